import { join } from "node:path";
import { freePort } from "../../infra/embedded/free_port.ts";
import { succeeds } from "./processes.ts";

/** Whether Postfix and its password tool are installed and may be started (its master process needs root). */
export const canRunPostfix = Deno.uid() === 0 &&
  await succeeds("postconf", "-d", "mail_version") && await succeeds("which", "saslpasswd2");

const NOBODY = 65_534;

const recipients = String.raw`
/^busy@/      450 4.2.0 Mailbox busy, try again later
/^full@/      452 4.2.2 Mailbox full
/^greylist@/  451 4.7.1 Greylisted, try again in five minutes
/^drop@/      521 5.3.2 Dropping the connection
/^hangup@/    421 4.3.0 Closing the connection
/^unknown@/   550 5.1.1 User unknown
/^blocked@/   554 5.7.1 Refused by policy
`;

const mainConfig = (run: string, tls: { certFile: string; keyFile: string }) => `
compatibility_level = 3.6
queue_directory = ${run}/spool
data_directory = ${run}/data
maillog_file = ${run}/postfix.log
maillog_file_prefixes = ${run}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mx.peer.test
mydestination =
mynetworks = 127.0.0.0/8
alias_maps =
alias_database =
default_transport = error:5.7.1 this instance sends nothing out
relay_transport = error:5.7.1 this instance sends nothing out
virtual_mailbox_domains = static:all
virtual_mailbox_base = ${run}/mail
virtual_mailbox_maps = static:inbox/
virtual_uid_maps = static:${NOBODY}
virtual_gid_maps = static:${NOBODY}
smtpd_recipient_restrictions = check_recipient_access regexp:${run}/etc/recipients
header_checks = regexp:${run}/etc/headers
smtpd_tls_cert_file = ${tls.certFile}
smtpd_tls_key_file = ${tls.keyFile}
smtpd_error_sleep_time = 0
notify_classes =
smtpd_sasl_path = smtpd
cyrus_sasl_config_path = ${run}/etc/sasl
`;

const masterConfig = (plain: number, starttls: number, implicit: number, submission: number) => `
127.0.0.1:${plain} inet n - n - - smtpd
    -o smtpd_tls_security_level=none
127.0.0.1:${starttls} inet n - n - - smtpd
    -o smtpd_tls_security_level=encrypt
127.0.0.1:${implicit} inet n - n - - smtpd
    -o smtpd_tls_wrappermode=yes
127.0.0.1:${submission} inet n - n - - smtpd
    -o smtpd_tls_security_level=encrypt
    -o smtpd_sasl_auth_enable=yes
    -o smtpd_tls_auth_only=yes
    -o smtpd_client_restrictions=permit_sasl_authenticated,reject
cleanup   unix  n - n - 0 cleanup
qmgr      unix  n - n 300 1 qmgr
tlsmgr    unix  - - n 1000? 1 tlsmgr
rewrite   unix  - - n - - trivial-rewrite
bounce    unix  - - n - 0 bounce
defer     unix  - - n - 0 bounce
proxymap  unix  - - n - - proxymap
error     unix  - - n - - error
retry     unix  - - n - - error
virtual   unix  - n n - - virtual
anvil     unix  - - n - 1 anvil
showq     unix  n - n - - showq
postlog   unix-dgram n - n - 1 postlogd
`;

/**
 * Starts a private Postfix on loopback that keeps all its state under `run`, a directory that all users may enter. All mail is
 * delivered into one Maildir; nothing leaves the machine.
 */
export async function startPostfix(
  run: string,
  tls: { certFile: string; keyFile: string },
) {
  await Deno.chmod(run, 0o755);
  for (const name of ["etc/sasl", "spool", "data", "mail/inbox"]) {
    await Deno.mkdir(join(run, name), { recursive: true });
  }
  await must("chown", ["postfix", join(run, "data")]);
  await must("chown", ["-R", `${NOBODY}:${NOBODY}`, join(run, "mail")]);
  const [plainPort, starttlsPort, implicitTlsPort, submissionPort] = [
    ...[freePort(), freePort(), freePort(), freePort()] as const,
  ];
  const sasl = join(run, "etc/sasl/sasldb2");
  const files = {
    "main.cf": mainConfig(run, tls),
    "master.cf": masterConfig(plainPort, starttlsPort, implicitTlsPort, submissionPort),
    recipients,
    headers: "/^Subject:.*\\[reject-data\\]/ REJECT 5.7.1 Content refused after DATA\n",
    "sasl/smtpd.conf":
      `pwcheck_method: auxprop\nauxprop_plugin: sasldb\nsasldb_path: ${sasl}\nmech_list: PLAIN LOGIN\n`,
  };
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(run, "etc", name), text);
  await must("saslpasswd2", ["-p", "-c", "-f", sasl, "-u", "peer.test", "mailer"], "mailpass");
  await must("chown", ["postfix", sasl]);
  // `start` returns once the master process has bound every port
  await must("postfix", ["-c", join(run, "etc"), "start"]);
  return {
    /** Without TLS. */
    plainPort,
    /** STARTTLS required, no sign-in. */
    starttlsPort,
    implicitTlsPort,
    /** STARTTLS and a sign-in as mailer@peer.test / mailpass required. */
    submissionPort,
    /** The raw text of the message with this Message-ID, as soon as it is delivered. */
    delivered: (messageId: string) => waitForMail(join(run, "mail/inbox"), messageId),
    [Symbol.asyncDispose]: () => must("postfix", ["-c", join(run, "etc"), "stop"]),
  };
}

async function waitForMail(maildir: string, messageId: string): Promise<string> {
  const inbox = join(maildir, "new");
  const look = async () => {
    for await (const { name } of Deno.readDir(inbox)) {
      const raw = await Deno.readTextFile(join(inbox, name));
      if (raw.includes(`<${messageId}>`)) return raw;
    }
    return null;
  };
  // the first delivery creates the Maildir's folders
  const options = `-d -o ${NOBODY} -g ${NOBODY} -m 700`.split(" ");
  await must("install", [...options, inbox, `${maildir}/tmp`, `${maildir}/cur`]);
  using watcher = Deno.watchFs(inbox);
  for (let found = await look();; found = await look()) {
    if (found !== null) return found;
    await watcher[Symbol.asyncIterator]().next();
  }
}

async function must(program: string, args: string[], input = ""): Promise<void> {
  // daemons keep inherited pipes open, so Postfix must not get any
  const quiet = program === "postfix" ? "null" : "piped";
  const child = new Deno.Command(program, { args, stdin: "piped", stdout: "null", stderr: quiet }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const reason = quiet === "piped" ? await new Response(child.stderr).text() : "";
  const { code } = await child.status;
  if (code !== 0) {
    throw new Error(`${program} ${args.join(" ")} failed with status ${code}: ${reason.trim()}`);
  }
}
