import { Fields, Form } from "../../components/fields.tsx";
import { actionButton } from "../../components/forms.tsx";
import { timeColumn } from "../../components/list.tsx";
import { Card } from "../../components/notice.tsx";
import { type Column, dataTable, LivePart } from "../../components/table.tsx";
import { action, done, formPage, type Sent, showing } from "../../shared/actions.ts";
import { orNull } from "../../shared/api.ts";
import type { Row } from "../../shared/operations.ts";
import { type ConsolePage, field, may, type View, type Visit } from "../../shared/page.ts";
import { managesAllUsers, userName } from "../../shared/access_queries.ts";
import { readUser, userCrumbs } from "../users/model.tsx";
import { tenantCrumbs } from "../tenants/list.tsx";
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
    const params = { id: v.params.id ?? "" };
    const everywhere = managesAllUsers(v);
    const [user, requests] = await Promise.all([
      orNull(readUser(v)),
      v.api.call(everywhere ? "listAllUserDataRequests" : "listUserDataRequests", { params }),
    ]);
    const at = `users/${params.id}`;
    const name = user ? userName(user.value) : params.id;
    const isSelf = params.id === v.viewer.userId;
    return {
      title: t.title,
      crumbs: userCrumbs(v, user?.value),
      body: [
        user && (everywhere || may(v.viewer, "export:users")) && <ExportCard v={v} at={at} />,
        user && !isSelf && (everywhere || may(v.viewer, "erase:users")) && (
          <EraseCard v={v} at={at} name={name} sent={sent} hint={t.eraseHint} />
        ),
        <RequestsCard v={v} requests={requests} />,
      ],
    };
  },
  async send(v, form) {
    const params = { id: v.params.id ?? "" };
    const body = { reason: field(form, "reason") };
    await v.api.call(managesAllUsers(v) ? "eraseUserAnywhere" : "eraseUser", { params, body });
    return done(`users/${params.id}/data`, dataTexts[v.locale].eraseBegun);
  },
});

const tenantDataPage = formPage({
  path: "tenants/{id}/data",
  permissions: [ALL_TENANTS],
  async show(v, sent): Promise<View> {
    const t = dataTexts[v.locale];
    const { id = "" } = v.params;
    const [tenant, requests] = await Promise.all([
      orNull(v.api.call("readTenant", { params: { id } })),
      v.api.call("listTenantDataRequests", { params: { tenantId: id } }),
    ]);
    const at = `tenants/${id}`;
    return {
      title: t.tenantTitle,
      crumbs: tenantCrumbs(v),
      body: [
        tenant && <ExportCard v={v} at={at} />,
        tenant && tenant.type !== "Platform" && (
          <EraseCard v={v} at={at} name={tenant.name} sent={sent} hint={t.eraseTenantHint} isTenant />
        ),
        <RequestsCard v={v} requests={requests} />,
      ],
    };
  },
  async send(v, form) {
    const { id = "" } = v.params;
    const body = { reason: field(form, "reason"), name: field(form, "name") };
    await v.api.call("eraseTenant", { params: { tenantId: id }, body });
    return done(`tenants/${id}/data`, dataTexts[v.locale].eraseBegun);
  },
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

function EraseCard({ v, at, name, sent, hint, isTenant = false }: {
  v: Visit;
  at: string;
  name: string;
  sent: Sent | null;
  hint: string;
  isTenant?: boolean;
}) {
  const t = dataTexts[v.locale];
  const f = new Fields(v, sent, isTenant ? "eraseTenant" : "eraseUser");
  return (
    <Card title={t.erase}>
      <Form
        fields={f}
        action={`${at}/data`}
        submit={t.erase}
        intro={hint}
        confirm={t.eraseConfirm(name)}
      >
        {f.text("reason", t.reason, { hint: t.reasonHint })}
        {isTenant && f.text("name", t.name, { hint: t.nameHint, autocomplete: "off" })}
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
        {dataTable(t.requests, requests, <p class="muted">{t.none}</p>, columns)}
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
    (v) => managesAllUsers(v) ? "exportUserAnywhere" : "exportUser",
    showing("users/{id}/data", dataTexts, "exportBegun"),
    ["export:users", ALL_USERS],
  ),
  {
    path: "tenants/{id}/export",
    permissions: [ALL_TENANTS],
    async post(v) {
      const { id = "" } = v.params;
      await v.api.call("exportTenant", { params: { tenantId: id } });
      return done(`tenants/${id}/data`, dataTexts[v.locale].exportBegun);
    },
  },
];
