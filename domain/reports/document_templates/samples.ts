import { join } from "node:path";
import type { z } from "zod";
import type { TemplateTexts } from "../../templates/read.ts";
import type { DocumentSample as Sample } from "./template.ts";

type DocumentSample = z.output<typeof Sample>;

const ENGLISH = {
  invoice: {
    number: "2026-0142",
    date: "2026-03-02",
    dueDate: "2026-04-01",
    currency: "EUR",
    seller: {
      name: "Acme Ltd",
      street: "12 Flower Street",
      city: "Dublin D02 X285",
      vat: "IE1234567T",
      bank: "Example Bank",
      iban: "IE29 AIBK 9311 5212 3456 78",
    },
    customer: {
      name: "North Trading plc",
      street: "120 Harbour Road",
      city: "Cork T12 R2WK",
      vat: "IE7654321A",
    },
    intro: "Thank you for your order. We delivered the following goods and services in February 2026.",
    items: [
      { description: "Consulting, hours", quantity: 10, price: 95, amount: 950 },
      { description: "Licence for one year, with support by mail", quantity: 3, price: 120, amount: 360 },
    ],
    net: 1310,
    vatRate: 23,
    vat: 301.3,
    total: 1611.3,
    paymentUrl: "https://pay.example.com/2026-0142",
  },
  letter: {
    date: "2026-03-02",
    sender: { name: "Acme Ltd", street: "12 Flower Street", city: "Dublin" },
    recipient: { name: "Mary Byrne", street: "120 Harbour Road", city: "Cork T12 R2WK" },
    signatory: { name: "John Walsh", role: "Head of customer service" },
    subject: "Your contract is renewed",
    paragraphs: [
      "Your contract 2026/17 is renewed for one year from 1 April 2026. The price stays the same.",
      "You need to do nothing. If you do not want to renew the contract, please tell us by 20 March.",
    ],
  },
};

/** Sample data of a Brazilian company, because the language tag `pt` stands for Brazilian formats. */
const PORTUGUESE = {
  invoice: {
    number: "2026-0142",
    date: "2026-03-02",
    dueDate: "2026-04-01",
    currency: "BRL",
    seller: {
      name: "Acme Ltda.",
      street: "Rua das Flores, 12",
      city: "01234-000 São Paulo – SP",
      cnpj: "12.345.678/0001-95",
      bank: "Banco Exemplo, agência 0001, conta 12345-6",
    },
    customer: {
      name: "Comércio Norte S.A.",
      street: "Avenida Paulista, 1200",
      city: "01310-100 São Paulo – SP",
      cnpj: "98.765.432/0001-98",
    },
    intro: "Obrigado pelo seu pedido. Em fevereiro de 2026, fornecemos os seguintes produtos e serviços.",
    items: [
      { description: "Consultoria, horas", quantity: 10, price: 95, amount: 950 },
      { description: "Licença de um ano, com suporte por e-mail", quantity: 3, price: 120, amount: 360 },
    ],
    net: 1310,
    taxRate: 5,
    tax: 65.5,
    total: 1375.5,
    paymentUrl: "https://pay.example.com/2026-0142",
  },
  letter: {
    date: "2026-03-02",
    sender: { name: "Acme Ltda.", street: "Rua das Flores, 12", city: "São Paulo" },
    recipient: { name: "Ana Silva", street: "Avenida Paulista, 1200", city: "01310-100 São Paulo – SP" },
    signatory: { name: "Rui Santos", role: "Gerente de atendimento ao cliente" },
    subject: "Seu contrato foi renovado",
    paragraphs: [
      "Seu contrato 2026/17 foi renovado por um ano a partir de 1º de abril de 2026. O preço continua o mesmo.",
      "Você não precisa fazer nada. Se não quiser renovar o contrato, avise-nos até 20 de março.",
    ],
  },
};

const REMINDER = {
  today: "2026-04-15",
  payBy: "2026-04-30",
  currency: "EUR",
  seller: ENGLISH.invoice.seller,
  customer: ENGLISH.invoice.customer,
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
      sampleData: ENGLISH.invoice,
      texts: null,
    },
    {
      slug: "invoice",
      locale: "pt",
      name: "Fatura",
      titleTemplate: "Fatura {{number}}",
      bodyTemplate: textOf("invoice.pt"),
      requiredVariables: "number, date, seller, customer, items, total, currency",
      sampleData: PORTUGUESE.invoice,
      texts: null,
    },
    {
      slug: "letter",
      locale: "en",
      name: "Letter",
      titleTemplate: "{{subject}}",
      bodyTemplate: textOf("letter.en"),
      requiredVariables: "date, sender, recipient, subject, paragraphs",
      sampleData: ENGLISH.letter,
      texts: null,
    },
    {
      slug: "letter",
      locale: "pt",
      name: "Carta",
      titleTemplate: "{{subject}}",
      bodyTemplate: textOf("letter.pt"),
      requiredVariables: "date, sender, recipient, subject, paragraphs",
      sampleData: PORTUGUESE.letter,
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
