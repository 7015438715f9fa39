"""A web program that signs users in with Authlib, configured by discovery alone."""
import os
import sys

from authlib.integrations.flask_client import OAuth
from flask import Flask, jsonify, request, session, url_for

issuer, client_id, client_secret, port = sys.argv[1:5]
app = Flask(__name__)
app.secret_key = os.urandom(16)
oauth = OAuth(app)
oauth.register(
    "steward",
    server_metadata_url=f"{issuer}/.well-known/openid-configuration",
    client_id=client_id,
    client_secret=client_secret,
    client_kwargs={"scope": "openid profile email offline_access", "code_challenge_method": "S256"},
)


@app.get("/login")
def login():
    return oauth.steward.authorize_redirect(url_for("callback", _external=True))


@app.get("/callback")
def callback():
    token = oauth.steward.authorize_access_token()
    user = oauth.steward.userinfo(token=token)
    return jsonify(claims=token["userinfo"], user=user, refresh=token.get("refresh_token"))


app.run(host="127.0.0.1", port=int(port))
