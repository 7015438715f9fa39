import { type ExtensionPage, type Html, html, type PageVisit } from "@steward/steward";

interface Draft {
  id: string;
  number: string;
  customer: string;
  amount: number;
  dueOn: string;
}

const TEXTS = {
  en: {
    none: "There are no drafts.",
    choose: "Choose at least one invoice.",
    send: "Send the chosen invoices",
    customer: "Customer",
    amount: "Amount",
    total: "Chosen",
  },
  pt: {
    none: "Não há rascunhos.",
    choose: "Escolha pelo menos uma fatura.",
    send: "Enviar as faturas escolhidas",
    customer: "Cliente",
    amount: "Valor",
    total: "Escolhidas",
  },
};

/** Sends many drafts at once: a page of free HTML with a form. */
export const draftsPage: ExtensionPage = {
  path: "drafts",
  title: { en: "Send drafts", pt: "Enviar rascunhos" },
  permission: "write:invoices",
  isInNavigation: true,
  script: new URL("./drafts_page.js", import.meta.url),
  style: new URL("./drafts_page.css", import.meta.url),
  render: (visit) => draftsForm(visit),
  async submit(visit, form) {
    const ids = form.getAll("id").map(String);
    if (ids.length === 0) return await draftsForm(visit, TEXTS[visit.language].choose);
    for (const id of ids) await visit.call("sendInvoice", { params: { id } });
    return { message: { en: `Invoices sent: ${ids.length}.`, pt: `Faturas enviadas: ${ids.length}.` } };
  },
};

async function draftsForm({ call, format, path, csrf, language }: PageVisit, mistake = ""): Promise<Html> {
  const t = TEXTS[language];
  const query = { status: "Draft", sortBy: "number", pageSize: 50 };
  const { items } = await call<{ items: Draft[] }>("listInvoices", { query });
  if (items.length === 0) return html`<p class="muted">${t.none}</p>`;
  return html`
    <form class="card drafts" method="post" action="${path}">
      ${csrf}
      ${mistake && html`<p class="notice tone-bad" role="alert">${mistake}</p>`}
      <table class="data">
        <thead><tr><th scope="col">${t.customer}</th><th scope="col" class="end">${t.amount}</th></tr></thead>
        <tbody>${items.map((draft) => row(draft, t, format))}</tbody>
      </table>
      <p>${t.total}: <output>0</output></p>
      <div class="row"><button class="button primary">${t.send}</button></div>
    </form>
  `;
}

const row = ({ id, number, customer, amount }: Draft, t: typeof TEXTS.en, format: PageVisit["format"]) =>
  html`
    <tr>
      <td data-label="${t.customer}">
        <label><input type="checkbox" name="id" value="${id}"> ${customer} (${number})</label>
      </td>
      <td class="end" data-label="${t.amount}">${format(amount, { currency: "EUR" })}</td>
    </tr>
  `;
