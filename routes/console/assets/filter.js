// Narrows a long list of choices while typing. Without scripts the whole list is shown and the input stays hidden.
for (const input of document.querySelectorAll("input[data-filter]")) {
  const items = [...document.querySelectorAll(input.dataset.filter)];
  const groups = [...new Set(items.map((item) => item.closest("[data-filter-group]")))].filter(Boolean);
  const count = document.getElementById(input.getAttribute("aria-describedby"));
  const plain = (text) => text.normalize("NFD").replaceAll(/\p{Diacritic}/gu, "").toLowerCase();
  const texts = new Map(items.map((item) => [item, plain(item.textContent)]));
  const narrow = () => {
    const words = plain(input.value).split(/\s+/).filter(Boolean);
    for (const item of items) item.hidden = !words.every((word) => texts.get(item).includes(word));
    for (const group of groups) group.hidden = !items.some((item) => !item.hidden && group.contains(item));
    count.textContent = words.length === 0
      ? ""
      : input.dataset.count.replace("{n}", String(items.filter((item) => !item.hidden).length));
  };
  input.addEventListener("input", narrow);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault(); // would send the form
  });
  input.closest("[data-filter-bar]").hidden = false;
}
