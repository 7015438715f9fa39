import { actionButton } from "../components/forms.tsx";
import { actionsColumn } from "../components/list.tsx";
import { Card } from "../components/notice.tsx";
import { type Column, dataTable } from "../components/table.tsx";
import { Codes } from "../components/values.tsx";
import { action, showing } from "../shared/actions.ts";
import { defineTexts } from "../shared/languages.ts";
import type { Answer } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";

const texts = defineTexts({
  title: ["Connected programs", "Programas ligados"],
  caption: ["Programs that you signed in to with this account", "Programas em que entrou com esta conta"],
  program: ["Program", "Programa"],
  allowed: ["Allowed", "Permitido"],
  sessions: ["Sessions", "Sessões"],
  disconnect: ["Disconnect", "Desligar"],
  confirm: (name: string) => [
    `Disconnect ${name}? It is signed out, and must ask again.`,
    `Desligar ${name}? A sessão termina, e o programa terá de pedir de novo.`,
  ],
  disconnected: ["The program was disconnected.", "O programa foi desligado."],
});

type Connected = Answer<"listConnectedClients">[number];

/** The OAuth clients that the viewer signed in to; nothing if there are none. */
export function ConnectedClients({ v, clients }: { v: Visit; clients: Connected[] }) {
  if (clients.length === 0) return null;
  const t = texts[v.locale];
  const columns: Column<Connected>[] = [
    { head: t.program, cell: ({ name }) => name },
    { head: t.allowed, cell: ({ allowedScopes }) => <Codes codes={allowedScopes} /> },
    { head: t.sessions, cell: ({ sessions }) => String(sessions), wideOnly: true },
    actionsColumn(
      v,
      ({ id, name }) => actionButton(v, `account/clients/${id}`, t.disconnect, { confirm: t.confirm(name) }),
    ),
  ];
  return (
    <Card title={t.title}>
      {dataTable(t.caption, clients, null, columns)}
    </Card>
  );
}

export const disconnectAction = action(
  "account/clients/{id}",
  "disconnectClient",
  showing("account", texts, "disconnected"),
);
