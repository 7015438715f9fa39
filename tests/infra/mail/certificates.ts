import { join } from "node:path";
import { run, succeeds } from "../../support/processes.ts";

/** Paths of a temporary certificate authority and of a certificate it signed for localhost and 127.0.0.1. */
export interface TestCertificates {
  ca: string;
  certFile: string;
  keyFile: string;
}

/** True if the openssl program, which makes the certificates, is installed. */
export const hasOpenssl = await succeeds("openssl", "version");

/** Makes both in `directory`, valid for two days. */
export async function makeCertificates(directory: string): Promise<TestCertificates> {
  const file = (name: string) => join(directory, name);
  const openssl = (...args: string[]) => run("openssl", args);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  await openssl(
    ...["req", "-x509", ...key, "-days", "2", "-subj", "/CN=Steward test authority"],
    ...["-addext", "basicConstraints=critical,CA:TRUE", "-keyout", file("ca.key"), "-out", file("ca.pem")],
  );
  await openssl("req", ...key, "-subj", "/CN=localhost", "-keyout", file("key.pem"), "-out", file("csr.pem"));
  await Deno.writeTextFile(
    file("ext"),
    "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n",
  );
  await openssl(
    ...["x509", "-req", "-in", file("csr.pem"), "-CA", file("ca.pem"), "-CAkey", file("ca.key")],
    ...["-CAcreateserial", "-days", "2", "-extfile", file("ext"), "-out", file("cert.pem")],
  );
  return {
    ca: await Deno.readTextFile(file("ca.pem")),
    certFile: file("cert.pem"),
    keyFile: file("key.pem"),
  };
}
