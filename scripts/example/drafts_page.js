// Shows the number of chosen invoices.
const form = document.querySelector(".drafts");
form?.addEventListener("change", () => {
  form.querySelector("output").textContent = form.querySelectorAll("input:checked").length;
});
