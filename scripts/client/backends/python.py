"""A backend that asks Steward what users may do. Its service account holds check:access and read:events.

STEWARD_URL=https://steward.example STEWARD_SECRET=sk_… PORT=8080 python3 python.py
"""
import json
import os
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


def steward(path, body=None):
    headers = {"Authorization": "Bearer " + os.environ["STEWARD_SECRET"], "Content-Type": "application/json"}
    data = body and json.dumps(body).encode()
    request = urllib.request.Request(os.environ["STEWARD_URL"] + "/api/v1" + path, data, headers)
    with urllib.request.urlopen(request, timeout=2) as response:
        return json.load(response)


# The answers that hold until an event says that the user's rights changed.
answers = {}
def may(user_id, tenant_id, permission):
    known, key = answers.setdefault(user_id, {}), (tenant_id, permission)
    if key not in known:
        check = {"userId": user_id, "tenantId": tenant_id, "permission": permission}
        answer = steward("/access/check", {"checks": [check]})
        known[key] = answer["results"][0]["allowed"]  # unused if the dict was dropped meanwhile
    return known[key]
def follow(after):
    page = steward(f"/events?types=user.access-changed&waitSeconds=1&after={after}")
    for event in page["items"]:
        answers.pop(event["data"]["userId"], None)
    return page["next"]
# End of the part that a backend needs.


def follow_always(after):
    while True:
        try:
            after = follow(after)
            if len(answers) > 100_000:
                answers.clear()
        except Exception as error:
            print(error, flush=True)
            answers.clear()  # without events, no answer is kept
            time.sleep(0.5)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        try:
            allowed = may(asked["user"], asked["tenant"], asked["permission"])
            self.answer(200 if allowed else 403, b"Approved.\n" if allowed else b"Refused.\n")
        except Exception as error:
            print(error, flush=True)
            self.answer(503, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


threading.Thread(target=follow_always, args=[steward("/events?types=none")["next"]], daemon=True).start()
server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", 0))), Handler)
print(f"listening on {server.server_port}", flush=True)
server.serve_forever()
