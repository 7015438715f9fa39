import { Readable } from "node:stream";
import { defineJob, PermanentJobFailure, transact, z } from "@steward/steward";

interface Invoice {
  number: string;
  customer: string;
  /** As text, because a JavaScript number cannot hold every decimal amount. */
  amount: string;
  dueOn: string;
  fileId: string | null;
}

/** Makes the PDF of an invoice, stores it as a file that the invoice holds, and emits `invoice.rendered`. */
export const renderInvoice = defineJob({
  name: "invoice.render",
  args: z.object({ invoiceId: z.guid() }),
  async run({ invoiceId }, { db, tenantId, createdBy, steward }) {
    const [invoice] = await db<Invoice[]>`
      select number, customer, amount::text, due_on::text, file_id from invoicing.invoices
      where id = ${invoiceId} and tenant_id = ${tenantId} and deleted_at is null`;
    if (!invoice || tenantId === null) throw new PermanentJobFailure(`there is no invoice ${invoiceId}`);
    if (invoice.fileId !== null) return { fileId: invoice.fileId }; // an earlier attempt stored it
    const { number } = invoice;
    const { fileId } = await steward.storeFile({
      tenantId,
      profile: "document",
      fileName: `invoice-${number}.pdf`,
      contentType: "application/pdf",
      createdBy,
      owner: { scope: "invoices", id: invoiceId },
    }, await pdfOf(invoice));
    await transact(db, async (tx) => {
      await tx`
        update invoicing.invoices set file_id = ${fileId}, version = version + 1, updated_at = now()
        where id = ${invoiceId}`;
      await steward.emitEvent(tx, {
        type: "invoice.rendered",
        tenantId,
        data: { invoiceId, number, fileId },
      });
    });
    return { fileId };
  },
});

/** An invoice as a PDF of one page. The built-in font has Western European letters only. */
async function pdfOf({ number, customer, amount, dueOn }: Invoice): Promise<ReadableStream<Uint8Array>> {
  const { default: PDFDocument } = await import("npm:pdfkit@0.20.2"); // loaded by the first job, not at start
  const document = new PDFDocument({ size: "A4", info: { Title: `Invoice ${number}` } });
  document.fontSize(24).text(`Invoice ${number}`).moveDown();
  document.fontSize(12).text(`Customer: ${customer}`).text(`Amount: ${amount}`).text(`Due on: ${dueOn}`);
  document.end();
  return Readable.toWeb(document) as ReadableStream<Uint8Array>;
}
