import datetime
import json
import os
import subprocess
import unittest

from product import Product, send


class Reminders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = ["npx", "-y", "deno@2.9.6", "run", "-A", os.environ["STEWARD"] + "/scripts/testing/serve.ts"]
        cls.steward = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        ready = json.loads(cls.steward.stdout.readline())
        cls.url, cls.control = ready["url"], ready["control"]

    @classmethod
    def tearDownClass(cls):
        cls.steward.communicate()  # closes its stdin, and waits until it has ended

    def test_a_payer_is_reminded_three_days_later(self):
        permissions = ["manage:job-types", "work:jobs", "send:notifications"]
        user = send(self.control + "/users", {"permissions": permissions})
        product = Product(self.url, user["token"])
        product.declare_jobs()
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)
        product.remind_later({"number": 7, "payer": "ann@example.com"}, later)
        send(self.control + "/clock/advance", {"by": "3 days"})
        token = send(self.control + "/tokens", user)["token"]  # the former one has expired
        Product(self.url, token).work()
        drained = send(self.control + "/jobs/drain", {})
        self.assertEqual((drained["failed"], drained["left"]), ([], []))
        mail = send(self.control + "/outbox/last", {"to": "ann@example.com"})
        self.assertEqual(mail["subject"], "Invoice 7 is due")
