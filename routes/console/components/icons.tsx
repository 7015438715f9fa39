/** SVG paths on a 24 by 24 grid, stroked in the text colour. */
const PATHS: Record<string, string> = {
  steward: "M12 3l8 4v5c0 5-3.5 8-8 9-4.5-1-8-4-8-9V7z M8.5 12l2.5 2.5 4.5-5",
  menu: "M4 6h16 M4 12h16 M4 18h16",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15z M10 21h4",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z M4.5 20c1-4 4-5.5 7.5-5.5s6.5 1.5 7.5 5.5",
  overview: "M4 13h6V4H4z M14 20h6V11h-6z M4 20h6v-3H4z M14 7h6V4h-6z",
  jobs: "M4 7h16v12H4z M9 7V5h6v2 M4 12h16 M11 12v2h2v-2",
  recurring: "M20 11a8 8 0 0 0-14.5-3.5L4 9 M4 4v5h5 M4 13a8 8 0 0 0 14.5 3.5L20 15 M20 20v-5h-5",
  dead: "M12 3a8 8 0 0 0-5 14v3h10v-3a8 8 0 0 0-5-14z M9 12h.01 M15 12h.01 M10.5 20v-2 M13.5 20v-2",
  blocked: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z M5.6 5.6l12.8 12.8",
  files: "M6 3h8l4 4v14H6z M14 3v4h4 M9 13h6 M9 17h6",
  notifications: "M4 6h16v12H4z M4 7l8 6 8-6",
  templates: "M4 4h16v5H4z M4 13h7v7H4z M15 13h5 M15 17h5",
  reports: "M5 20V10 M10 20V4 M15 20v-7 M20 20V8",
  types: "M4 4h7v7H4z M13 4h7v7h-7z M4 13h7v7H4z M13 13h7v7h-7z",
  workers: "M4 5h16v5H4z M4 14h16v5H4z M8 7.5h.01 M8 16.5h.01",
  schedules: "M4 6h16v14H4z M4 10h16 M8 3v5 M16 3v5 M12 13v3l2 1",
  users:
    "M9 12a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z M3 19c.7-3.5 3-5 6-5s5.3 1.5 6 5 M16 5.5a3 3 0 0 1 0 6 M17.5 14.5c2 .7 3.2 2 3.5 4.5",
  roles: "M12 3l8 3v6c0 5-3.5 7.5-8 9-4.5-1.5-8-4-8-9V6z M12 9v4 M12 16h.01",
  permissions: "M8 15a4 4 0 1 1 3.5-6H20v3h-2v3h-3v-3h-3.5A4 4 0 0 1 8 15z",
  tenants: "M4 20V8l6-4v16 M10 20h10V10H10 M13 13h1 M16 13h1 M13 16h1 M16 16h1",
  more: "M5 12h2 M11 12h2 M17 12h2",
  service: "M4 5h16v5H4z M4 14h16v5H4z M7 7.5h.01 M7 16.5h.01",
  access: "M12 3a4 4 0 0 0-4 4v3h8V7a4 4 0 0 0-4-4z M5 10h14v10H5z M12 14v2",
  audit: "M5 4h14v16H5z M8 8h8 M8 12h8 M8 16h5",
  keys: "M14 7a4 4 0 1 1-3 6.6L7 18H4v-3l5-5A4 4 0 0 1 14 7z M15 9h.01",
  webhooks: "M8 8a4 4 0 1 1 6 3l3 5 M6 12a4 4 0 1 0 4 6h6 M17 13a4 4 0 1 1-3 6",
  settings: "M4 7h10 M18 7h2 M4 17h2 M10 17h10 M14 5v4 M10 15v4",
  circle: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z",
  check: "M4 12l5 5L20 6",
  alert: "M12 4l9 16H3z M12 10v4 M12 17h.01",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z M12 11v5 M12 8h.01",
  empty: "M4 13l3-8h10l3 8v6H4z M4 13h5l1 2h4l1-2h5",
  copy: "M8 8h11v12H8z M5 16V4h11",
  play: "M7 5l11 7-11 7z",
  pause: "M8 5v14 M16 5v14",
  retry: "M20 11a8 8 0 1 0-2 6 M20 4v7h-7",
  undo: "M9 14L4 9l5-5 M4 9h10a6 6 0 0 1 0 12h-3",
  trash: "M5 7h14 M9 7V4h6v3 M7 7l1 13h8l1-13",
  plus: "M12 5v14 M5 12h14",
  star: "M12 4l2.5 5.2 5.5.8-4 4 1 5.6-5-2.7-5 2.7 1-5.6-4-4 5.5-.8z",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3z M12 15v6",
  close: "M6 6l12 12 M18 6L6 18",
  download: "M12 4v11 M7 11l5 5 5-5 M5 20h14",
  upload: "M12 16V5 M7 9l5-5 5 5 M5 20h14",
  down: "M6 9l6 6 6-6",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14z M16 16l4 4",
  lock: "M7 11V8a5 5 0 0 1 10 0v3 M5 11h14v9H5z",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1 M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
};

/** An icon. It is decoration only (aria-hidden), so the text beside it must carry the meaning. */
export function Icon({ name }: { name: string }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      width="18"
      height="18"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name] ?? PATHS.empty} />
    </svg>
  );
}
