"""A product that reminds of unpaid invoices. It has no clock, queue or mail server of its own."""
import json
import urllib.request


def send(url, body, token="", method="POST"):
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Product:
    def __init__(self, url, token):
        self.call = lambda path, body, method="POST": send(f"{url}/api/v1{path}", body, token, method)

    def declare_jobs(self):
        self.call("/job-types/invoice.remind", {}, "PUT")

    def remind_later(self, invoice, at):
        args = json.dumps(invoice)
        self.call("/jobs", {"jobTypeName": "invoice.remind", "serializedArgs": args, "scheduledAt": at.isoformat()})

    def work(self):
        """Does the jobs that are due. In production a worker loop calls it, see scripts/client/workers."""
        claim = {"types": ["invoice.remind"], "max": 10, "worker": "product"}
        for job in self.call("/work/claim", claim)["jobs"]:
            recipients = [{"address": job["args"]["payer"]}]
            subject = f"Invoice {job['args']['number']} is due"
            mail = {"channel": "Email", "recipients": recipients, "subject": subject, "textBody": "Please pay."}
            self.call("/notifications/send", mail)
            done = {"jobId": job["jobId"], "attempt": job["attempt"], "outcome": "succeeded"}
            self.call("/work/settle", {"jobs": [done]})
