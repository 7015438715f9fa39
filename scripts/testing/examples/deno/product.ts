// A product that reminds of unpaid invoices. It has no clock, queue or mail server of its own.
export const connect =
  (url: string, token: string) => async (path: string, body: unknown, method = "POST") => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json();
  };
type Call = ReturnType<typeof connect>;

export const declareJobs = (call: Call) => call("/job-types/invoice.remind", {}, "PUT");

export const remindLater = (call: Call, invoice: { number: number; payer: string }, scheduledAt: Date) =>
  call("/jobs", { jobTypeName: "invoice.remind", serializedArgs: JSON.stringify(invoice), scheduledAt });

/** Does the jobs that are due. In production a worker loop calls it, see scripts/client/workers. */
export async function work(call: Call): Promise<void> {
  const { jobs } = await call("/work/claim", { types: ["invoice.remind"], max: 10, worker: "product" });
  for (const { jobId, attempt, args } of jobs) {
    const subject = `Invoice ${args.number} is due`;
    const mail = {
      channel: "Email",
      recipients: [{ address: args.payer }],
      subject,
      textBody: "Please pay.",
    };
    await call("/notifications/send", mail);
    await call("/work/settle", { jobs: [{ jobId, attempt, outcome: "succeeded" }] });
  }
}
