import type { Child } from "hono/jsx";
import { Fields, Form } from "../../components/fields.tsx";
import { actionButton } from "../../components/forms.tsx";
import { timeColumn } from "../../components/list.tsx";
import { Card } from "../../components/notice.tsx";
import { type Column, dataTable, LivePart } from "../../components/table.tsx";
import { action, formPage, sendTo, showing } from "../../shared/actions.ts";
import { orNull } from "../../shared/api.ts";
import type { Row } from "../../shared/operations.ts";
import { type ConsolePage, fieldsIn, may, type View, type Visit } from "../../shared/page.ts";
import { byScope, managesAllUsers, userName } from "../../shared/access_queries.ts";
import { readUser, userCrumbs } from "../users/model.tsx";
import { dataTexts } from "../users/texts.ts";
import { defineStates } from "../../components/states.tsx";

type DataRequest = Row<"listAllUserDataRequests">;

const REFRESH_SECONDS = 3;
const ALL_USERS = "manage:all-users";
const ALL_TENANTS = "manage:all-tenants";
const requestStates = defineStates<DataRequest["status"]>({
  Queued: ["idle", "Waiting", "Em espera"],
  Running: ["info", "Running", "Em andamento"],
  Completed: ["ok", "Completed", "Concluído"],
  Failed: ["bad", "Failed", "Falhou"],
});

/** Requested exports and erasures of a user, and the buttons for new ones. The page also shows deleted users. */
const userDataPage = formPage({
  path: "users/{id}/data",
  permissions: ["export:users", "erase:users", ALL_USERS],
  async show(v, sent): Promise<View> {
    const t = dataTexts[v.locale];
    const { params, viewer } = v;
    const everywhere = managesAllUsers(v);
    const [user, requests] = await Promise.all([
      orNull(readUser(v)),
      v.api.call(everywhere ? "listAllUserDataRequests" : "listUserDataRequests", { params }),
    ]);
    const at = `users/${params.id}`;
    const f = new Fields(v, sent, "eraseUser");
    return {
      title: t.title,
      crumbs: user ? userCrumbs(v, user.value) : undefined,
      body: [
        user && (everywhere || may(viewer, "export:users")) && <ExportCard v={v} at={at} />,
        user && params.id !== viewer.userId && (everywhere || may(viewer, "erase:users")) &&
        eraseCard(f, at, userName(user.value), t.eraseHint),
        <RequestsCard v={v} requests={requests} />,
      ],
    };
  },
  send: sendTo(
    byScope("eraseUserAnywhere", "eraseUser"),
    (form) => fieldsIn(form, "reason"),
    showing("users/{id}/data", dataTexts, "eraseBegun"),
  ),
});

const tenantDataPage = formPage({
  path: "tenants/{tenantId}/data",
  permissions: [ALL_TENANTS],
  async show(v, sent): Promise<View> {
    const t = dataTexts[v.locale];
    const { params } = v;
    const [tenant, requests] = await Promise.all([
      orNull(v.api.call("readTenant", { params: { id: params.tenantId } })),
      v.api.call("listTenantDataRequests", { params }),
    ]);
    const at = `tenants/${params.tenantId}`;
    const f = new Fields(v, sent, "eraseTenant");
    return {
      title: t.tenantTitle,
      body: [
        tenant && <ExportCard v={v} at={at} />,
        tenant && tenant.type !== "Platform" &&
        eraseCard(
          f,
          at,
          tenant.name,
          t.eraseTenantHint,
          f.text("name", t.name, { hint: t.nameHint, autocomplete: "off" }),
        ),
        <RequestsCard v={v} requests={requests} />,
      ],
    };
  },
  send: sendTo(
    "eraseTenant",
    (form) => fieldsIn(form, "reason", "name"),
    showing("tenants/{tenantId}/data", dataTexts, "eraseBegun"),
  ),
});

const ExportCard = ({ v, at }: { v: Visit; at: string }) => {
  const t = dataTexts[v.locale];
  return (
    <Card title={t.exportData}>
      <p class="muted">{t.exportHint}</p>
      {actionButton(v, `${at}/export`, t.exportData, { icon: "files" })}
    </Card>
  );
};

/** The form that erases the data of `name`, after a question. */
function eraseCard(f: Fields, at: string, name: string, hint: string, more?: Child) {
  const t = dataTexts[f.v.locale];
  return (
    <Card title={t.erase}>
      <Form fields={f} action={`${at}/data`} submit={t.erase} intro={hint} confirm={t.eraseConfirm(name)}>
        {f.text("reason", t.reason, { hint: t.reasonHint })}
        {more}
      </Form>
    </Card>
  );
}

function RequestsCard({ v, requests }: { v: Visit; requests: DataRequest[] }) {
  const t = dataTexts[v.locale];
  const isOpen = requests.some(({ status }) => status === "Queued" || status === "Running");
  const columns: Column<DataRequest>[] = [
    { head: t.kind, cell: ({ kind }) => t[kind] },
    {
      head: t.status,
      cell: ({ status, step }) => (
        <>
          {requestStates.badge(v, status)} {step && <span class="muted">{step}</span>}
        </>
      ),
    },
    timeColumn(v, t.asked, "createdAt"),
    { head: t.reason, cell: ({ reason }) => reason ?? "–", wideOnly: true },
    {
      head: t.file,
      cell: ({ fileId, requestedBy }) =>
        fileId && requestedBy === v.viewer.userId ? <a href={`files/${fileId}`}>{t.download}</a> : "–",
    },
  ];
  return (
    <Card title={t.requests}>
      <LivePart v={v} id="data-requests" {...isOpen && { everySeconds: REFRESH_SECONDS }}>
        {dataTable(t.requests, requests, t.none, columns)}
      </LivePart>
    </Card>
  );
}

/** Pages that export and erase the data of users and tenants. */
export const dataPages: ConsolePage[] = [
  userDataPage,
  tenantDataPage,
  action(
    "users/{id}/export",
    byScope("exportUserAnywhere", "exportUser"),
    showing("users/{id}/data", dataTexts, "exportBegun"),
    ["export:users", ALL_USERS],
  ),
  action(
    "tenants/{tenantId}/export",
    "exportTenant",
    showing("tenants/{tenantId}/data", dataTexts, "exportBegun"),
    [ALL_TENANTS],
  ),
];
