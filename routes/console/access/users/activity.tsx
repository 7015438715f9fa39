import { buttonLink } from "../../components/forms.tsx";
import { timeColumn } from "../../components/list.tsx";
import { Card } from "../../components/notice.tsx";
import { dataTable } from "../../components/table.tsx";
import { type File, fileBadge } from "../../files/model.tsx";
import { channelLabel, messageStates, type Summary } from "../../notifications/status.tsx";
import { orNull, type Page } from "../../shared/api.ts";
import { may, mayInFiles, type Visit } from "../../shared/page.ts";
import { userTexts } from "./texts.ts";

/** Number of messages and files that are shown. */
const NEWEST = 5;

/** The newest messages to a user and files of a user in the viewer's tenant; null: the viewer may not see them. */
export interface Activity {
  messages: Page<Summary> | null;
  files: Page<File> | null;
}

/** Reads the newest messages to a user and the newest files that the user uploaded. */
export async function readActivity(v: Visit, userId: string): Promise<Activity> {
  const isIn = v.viewer.tenant !== null;
  const [messages, files] = await Promise.all([
    isIn && may(v.viewer, "send:notifications")
      ? orNull(v.api.call("listNotifications", { query: { userId, pageSize: NEWEST } }))
      : null,
    isIn && mayInFiles(v.viewer, "read:files")
      ? orNull(v.api.call("listFiles", { query: { createdBy: userId, pageSize: NEWEST } }))
      : null,
  ]);
  return { messages, files };
}

/** The messages that the user received and the files that the user uploaded, newest first, with links to the whole lists. */
export function ActivityCards({ v, userId, activity }: { v: Visit; userId: string; activity: Activity }) {
  const { messages, files } = activity;
  return (
    <>
      {messages && <Messages v={v} userId={userId} messages={messages} />}
      {files && <Files v={v} userId={userId} files={files} />}
    </>
  );
}

function Messages({ v, userId, messages }: { v: Visit; userId: string; messages: Page<Summary> }) {
  const t = userTexts[v.locale];
  return (
    <Card
      title={t.messages}
      actions={messages.totalCount > NEWEST && buttonLink(`notifications?userId=${userId}`, t.showAll)}
    >
      {dataTable<Summary>(t.messages, messages.items, <p class="muted">{t.noMessages}</p>, [
        {
          head: t.subject,
          cell: ({ id, subject, templateSlug }) => (
            <a href={`notifications/${id}`}>{subject ?? templateSlug ?? t.noSubject}</a>
          ),
        },
        {
          head: t.channel,
          cell: ({ channel }) => channelLabel(v.locale, channel),
          wideOnly: true,
        },
        { head: t.status, cell: ({ status }) => messageStates.badge(v, status) },
        timeColumn(v, t.sentAt, "createdAt"),
      ])}
    </Card>
  );
}

function Files({ v, userId, files }: { v: Visit; userId: string; files: Page<File> }) {
  const t = userTexts[v.locale];
  return (
    <Card
      title={t.files}
      actions={files.totalCount > NEWEST && buttonLink(`files?createdBy=${userId}`, t.showAll)}
    >
      {dataTable<File>(t.files, files.items, <p class="muted">{t.noFiles}</p>, [
        { head: t.file, cell: ({ id, fileName }) => <a href={`files/${id}`}>{fileName}</a> },
        { head: t.status, cell: (file) => fileBadge(v, file) },
        timeColumn(v, t.created, "createdAt"),
      ])}
    </Card>
  );
}
