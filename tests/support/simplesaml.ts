// Debian's simplesamlphp behind apache2, as a SAML provider on a free port.
import { join } from "node:path";
import { freePort } from "../../infra/embedded/free_port.ts";
import { isFile, run as execute, startQuietly } from "./processes.ts";
import type { SamlKey } from "./saml.ts";
import { until } from "./until.ts";

const APACHE = "/usr/sbin/apache2";
const APACHE_MODULES = "/usr/lib/apache2/modules";
const WWW = "/usr/share/simplesamlphp/www";

const phpModule = ((): string | undefined => {
  try {
    return [...Deno.readDirSync(APACHE_MODULES)].find(({ name }) => /^libphp[\d.]*\.so$/.test(name))?.name;
  } catch {
    return undefined;
  }
})();

/** Whether both are installed and may be started (Apache then runs as www-data). */
export const canRunSimpleSaml = Deno.uid() === 0 && isFile(APACHE) && isFile(`${WWW}/index.php`) &&
  phpModule !== undefined;

/**
 * Starts a provider with the account `ana`, whose password is `any`, and with all its state under `run`.
 * @param o.service metadata of the service that uses it
 * @param o.email email of the account
 */
export async function startSimpleSaml(
  run: string,
  { key, service, email }: { key: SamlKey; service: string; email: string },
) {
  const port = freePort();
  const base = `http://127.0.0.1:${port}/simplesaml/`;
  for (const name of ["metadata", "cert", "log", "data", "tmp", "sessions"]) {
    await Deno.mkdir(join(run, name));
  }
  const php = (name: string, code: string) => Deno.writeTextFile(join(run, name), `<?php\n${code}\n`);
  await php("config.php", configOf(run, base));
  await php(
    "authsources.php",
    `$config = ['people' => ['exampleauth:UserPass', 'ana:any' =>
      ['uid' => ['ana-1'], 'mail' => ['${email}'], 'givenName' => ['Ana'], 'sn' => ['Souza']]]];`,
  );
  await php(
    "metadata/saml20-idp-hosted.php",
    `$metadata['${base}idp'] = ['host' => '__DEFAULT__', 'privatekey' => 'key.pem', 'certificate' => 'cert.pem',
      'auth' => 'people', 'NameIDFormat' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
      'authproc' => [3 => ['class' => 'saml:AttributeNameID', 'attribute' => 'uid',
        'Format' => 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent']]];`,
  );
  await Deno.writeTextFile(join(run, "metadata/service.xml"), service);
  await Deno.writeTextFile(join(run, "cert/key.pem"), key.key);
  await Deno.writeTextFile(join(run, "cert/cert.pem"), key.certificate);
  const modules = ["mpm_prefork", "authz_core", "alias", "dir", "env", "mime"];
  await Deno.writeTextFile(
    join(run, "apache.conf"),
    `${modules.map((name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`).join("\n")}
LoadModule php_module ${APACHE_MODULES}/${phpModule}
ServerName 127.0.0.1
Listen 127.0.0.1:${port}
PidFile ${run}/apache.pid
DefaultRuntimeDir ${run}
ErrorLog ${run}/log/apache.log
User www-data
Group www-data
TypesConfig /etc/mime.types
DocumentRoot ${run}/data
AddType application/x-httpd-php .php
DirectoryIndex index.php
Alias /simplesaml ${WWW}
SetEnv SIMPLESAMLPHP_CONFIG_DIR ${run}
<Directory ${WWW}>
  Require all granted
</Directory>
`,
  );
  await execute("chown", ["-R", "www-data:", run]);
  await Deno.chmod(run, 0o755);
  // Apache ends with its whole process group, so it gets its own.
  const server = startQuietly("setsid", [APACHE, "-f", join(run, "apache.conf"), "-DFOREGROUND"]);
  const readMetadata = async () => await (await fetch(`${base}saml2/idp/metadata.php`)).text();
  await until(async () => (await readMetadata().catch(() => "")).includes("EntityDescriptor"));
  return {
    /** Its own metadata, as it publishes them. */
    readMetadata,
    async [Symbol.asyncDispose]() {
      server.kill("SIGTERM");
      await server.status;
    },
  };
}

const configOf = (run: string, base: string): string =>
  `$config = [
  'baseurlpath' => '${base}',
  'certdir' => '${run}/cert/', 'loggingdir' => '${run}/log/', 'datadir' => '${run}/data/', 'tempdir' => '${run}/tmp',
  'metadatadir' => '${run}/metadata/',
  'metadata.sources' => [['type' => 'flatfile'], ['type' => 'xml', 'file' => '${run}/metadata/service.xml']],
  'secretsalt' => '${crypto.randomUUID()}', 'auth.adminpassword' => '${crypto.randomUUID()}',
  'technicalcontact_name' => 'Test', 'technicalcontact_email' => 'test@example.test', 'timezone' => 'UTC',
  'logging.handler' => 'file', 'logging.level' => 6,
  'enable.saml20-idp' => true,
  'module.enable' => ['exampleauth' => true, 'core' => true, 'saml' => true],
  'store.type' => 'phpsession', 'session.phpsession.savepath' => '${run}/sessions',
  'session.cookie.secure' => false, 'session.cookie.samesite' => null,
];`;
