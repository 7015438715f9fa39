import { join } from "node:path";
import type { TemplateTexts } from "../../notifications/templates/read.ts";

/** A template that callers copy and change. */
export interface DocumentSample {
  slug: string;
  locale: string;
  name: string;
  titleTemplate: string;
  bodyTemplate: string;
  requiredVariables: string;
  /** Data that shows what the template prints. */
  sampleData: Record<string, unknown>;
  texts: TemplateTexts | null;
}

const INVOICE = {
  number: "2026-0142",
  date: "2026-03-02",
  dueDate: "2026-04-01",
  currency: "EUR",
  seller: {
    name: "Acme Lda",
    street: "Rua das Flores 12",
    city: "4050-262 Porto",
    vat: "PT501234567",
    bank: "Banco Exemplo",
    iban: "PT50 0002 0123 1234 5678 9015 4",
  },
  customer: {
    name: "Norte Comércio SA",
    street: "Avenida da Boavista 1200",
    city: "4100-112 Porto",
    vat: "PT509876543",
  },
  net: 1310,
  vatRate: 23,
  vat: 301.3,
  total: 1611.3,
  paymentUrl: "https://pay.example.com/2026-0142",
};
const LETTER = {
  date: "2026-03-02",
  sender: { name: "Acme Lda", street: "Rua das Flores 12", city: "Porto" },
  recipient: { name: "Ana Silva", street: "Avenida da Boavista 1200", city: "4100-112 Porto" },
  signatory: { name: "Rui Santos" },
};

const REMINDER = {
  today: "2026-04-15",
  payBy: "2026-04-30",
  currency: "EUR",
  seller: INVOICE.seller,
  customer: INVOICE.customer,
  invoices: [
    { number: "2026-0142", due: "2026-04-01", daysLate: 14, amount: 1611.3 },
    { number: "2026-0167", due: "2026-04-14", daysLate: 1, amount: 98.4 },
  ],
  total: 1709.7,
};
const REMINDER_TEXTS: TemplateTexts = {
  en: {
    title: "Reminder of open invoices",
    greeting: "Dear {name},",
    open: "We have not received your payment for the following invoices.",
    invoice: "Invoice",
    due: "Due",
    late: "Late",
    day: "# day",
    days: "# days",
    amount: "Amount",
    total: "Total",
    pay: "Please pay {amount} by {date}.",
    paid: "If you have paid in the meantime, please ignore this letter.",
    closing: "Yours sincerely,",
    page: "Page",
  },
  pt: {
    title: "Lembrete de faturas em aberto",
    greeting: "{name},",
    open: "Ainda não recebemos o pagamento das seguintes faturas.",
    invoice: "Fatura",
    due: "Vencimento",
    late: "Atraso",
    day: "# dia",
    days: "# dias",
    amount: "Valor",
    total: "Total",
    pay: "Pedimos que pague {amount} até {date}.",
    paid: "Se já pagou, desconsidere esta carta.",
    closing: "Atenciosamente,",
    page: "Página",
  },
};

const inEnglish = {
  invoice: {
    ...INVOICE,
    intro: "Thank you for your order. We delivered the following goods and services in February 2026.",
    items: [
      { description: "Consulting, hours", quantity: 10, price: 95, amount: 950 },
      { description: "Licence for one year, with support by mail", quantity: 3, price: 120, amount: 360 },
    ],
  },
  letter: {
    ...LETTER,
    signatory: { ...LETTER.signatory, role: "Head of customer service" },
    subject: "Your contract is renewed",
    paragraphs: [
      "Your contract 2026/17 is renewed for one year from 1 April 2026. The price stays the same.",
      "You need to do nothing. If you do not want to renew the contract, please tell us by 20 March.",
    ],
  },
};
const inPortuguese = {
  invoice: {
    ...INVOICE,
    intro: "Obrigado pelo seu pedido. Em fevereiro de 2026 fornecemos os seguintes bens e serviços.",
    items: [
      { description: "Consultoria, horas", quantity: 10, price: 95, amount: 950 },
      { description: "Licença por um ano, com suporte por email", quantity: 3, price: 120, amount: 360 },
    ],
  },
  letter: {
    ...LETTER,
    signatory: { ...LETTER.signatory, role: "Direção do apoio ao cliente" },
    subject: "O seu contrato foi renovado",
    paragraphs: [
      "O seu contrato 2026/17 foi renovado por um ano a partir de 1 de abril de 2026. O preço mantém-se.",
      "Não precisa de fazer nada. Se não quiser renovar o contrato, avise-nos até 20 de março.",
    ],
  },
};

const textOf = (file: string): string =>
  Deno.readTextFileSync(join(import.meta.dirname ?? ".", "samples", `${file}.html`));

let samples: DocumentSample[] | null = null;

/** The shipped samples: an invoice and a letter, each in English and Portuguese, and a reminder with texts in both. */
export const documentSamples = (): DocumentSample[] =>
  samples ??= [
    {
      slug: "invoice",
      locale: "en",
      name: "Invoice",
      titleTemplate: "Invoice {{number}}",
      bodyTemplate: textOf("invoice.en"),
      requiredVariables: "number, date, seller, customer, items, total, currency",
      sampleData: inEnglish.invoice,
      texts: null,
    },
    {
      slug: "invoice",
      locale: "pt",
      name: "Fatura",
      titleTemplate: "Fatura {{number}}",
      bodyTemplate: textOf("invoice.pt"),
      requiredVariables: "number, date, seller, customer, items, total, currency",
      sampleData: inPortuguese.invoice,
      texts: null,
    },
    {
      slug: "letter",
      locale: "en",
      name: "Letter",
      titleTemplate: "{{subject}}",
      bodyTemplate: textOf("letter.en"),
      requiredVariables: "date, sender, recipient, subject, paragraphs",
      sampleData: inEnglish.letter,
      texts: null,
    },
    {
      slug: "letter",
      locale: "pt",
      name: "Carta",
      titleTemplate: "{{subject}}",
      bodyTemplate: textOf("letter.pt"),
      requiredVariables: "date, sender, recipient, subject, paragraphs",
      sampleData: inPortuguese.letter,
      texts: null,
    },
    {
      slug: "reminder",
      locale: "en",
      name: "Reminder",
      titleTemplate: '{{ t "title" }}',
      bodyTemplate: textOf("reminder"),
      requiredVariables: "today, payBy, currency, seller, customer, invoices, total",
      sampleData: REMINDER,
      texts: REMINDER_TEXTS,
    },
  ];
