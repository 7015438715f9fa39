# STEWARD=/path/to/steward python3 -m unittest test_reminder (beside steward_worker.py of scripts/client/workers/python)
import datetime, json, os, subprocess, threading, unittest, urllib.request
from steward_worker import Worker

def send(url, body=None, token=None, method="POST"):
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, body if body is None else json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

class Reminder(unittest.TestCase):
    def test_a_job_of_the_product_mails_a_reminder_three_days_later(self):
        program = ["npx", "-y", "deno@2.9.6", "run", "-A", os.environ["STEWARD"] + "/scripts/testing/serve.ts"]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as steward:
            url, control = json.loads(steward.stdout.readline()).values()
            api = url + "/api/v1"
            of_key = ["work:jobs", "send:notifications"]
            token = send(control + "/users", {"permissions": ["manage:job-types", "manage:api-keys", *of_key]})["token"]
            send(api + "/job-types/invoice.remind", {}, token, "PUT")
            key = send(api + "/api-keys", {"name": "product", "permissions": of_key}, token)["key"]
            worker = Worker(url, key, {"invoice.remind": lambda job: send(api + "/notifications/send", job.args, key)})
            threading.Thread(target=worker.run, daemon=True).start()
            mail = {"channel": "Email", "recipients": [{"address": "ann@example.com"}], "subject": "Due", "textBody": "Pay."}
            later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)
            job = {"jobTypeName": "invoice.remind", "serializedArgs": json.dumps(mail), "scheduledAt": later.isoformat()}
            send(api + "/jobs", job, token)
            send(control + "/clock/advance", {"by": "4 days"})
            self.assertEqual(send(control + "/jobs/drain", {}), {"failed": [], "left": []})
            self.assertEqual(send(control + "/outbox/last?to=ann@example.com", method="GET")["subject"], "Due")
            send(control + "/stop", {})
