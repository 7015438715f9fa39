import { encode } from "uqr";

const QUIET = 4;
const PIXELS = 220;

/** A QR code as inline SVG, dark on light in every theme, so that cameras can read it. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { data, size } = encode(text, { border: 0 });
  const whole = size + 2 * QUIET;
  const modules = data.flatMap((row, y) =>
    row.flatMap((isDark, x) => isDark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])
  );
  return (
    <svg
      role="img"
      aria-label={label}
      width={PIXELS}
      height={PIXELS}
      viewBox={`0 0 ${whole} ${whole}`}
      shape-rendering="crispEdges"
    >
      <rect width={whole} height={whole} fill="#fff" />
      <path d={modules.join("")} fill="#000" />
    </svg>
  );
}
