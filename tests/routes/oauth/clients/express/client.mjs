// A web program that signs users in with express-openid-connect, configured by discovery alone.
import express from "express";
import { auth } from "express-openid-connect";

const [issuerBaseURL, clientID, clientSecret, port] = process.argv.slice(2);
const app = express();
app.use(auth({
  issuerBaseURL,
  clientID,
  clientSecret,
  baseURL: `http://127.0.0.1:${port}`,
  secret: crypto.randomUUID() + crypto.randomUUID(),
  authorizationParams: { response_type: "code", scope: "openid profile email" },
  idpLogout: true,
}));
app.get("/", async (req, res) => {
  const info = await req.oidc.fetchUserInfo();
  res.json({ claims: req.oidc.idTokenClaims, user: info });
});
app.listen(Number(port), "127.0.0.1");
