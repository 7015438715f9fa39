// An app with one endpoint and nothing behind it.
import { z } from "zod";
import { anyone } from "../../../domain/rights/checks.ts";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { AREA_NAMES } from "../../../infra/areas.ts";
import { createLog } from "../../../infra/log.ts";
import { createApp } from "../../../routes/app.ts";
import type { AppOptions } from "../../../routes/serve.ts";
import { endpointsIn } from "../../../routes/shared/endpoint.ts";

const endpoint = endpointsIn("Operations");
const answers = { 200: { description: "Done", schema: z.object({}) } };
const spec = { id: "work", summary: "Works", access: anyone, answers, problems: [] };

/** Has `GET /work`, and `POST /work` with the member `text`. Both call `run`. */
export function appWith(
  stopping: AbortSignal,
  run: AppOptions["endpoints"][number]["run"],
  parts: { config?: Partial<ServicePlatform["config"]>; runningRequests?: object } = {},
) {
  return createApp({
    endpoints: [
      endpoint("GET /work", { ...spec, run }),
      endpoint("POST /work", { ...spec, id: "postWork", body: z.object({ text: z.string() }), run }),
    ],
    platform: {
      baseUrl: () => "http://127.0.0.1",
      log: createLog("off"),
      metrics: { countRequest() {} },
      connectionWait: { isTooLong: false, countArrival() {} },
      runningRequests: { run() {}, end() {}, takeBytes() {}, releaseBytes() {} },
      stopping,
      ...parts,
      config: {
        AREAS: new Set(AREA_NAMES),
        PUBLIC_URL: null,
        CORS_ORIGINS: null,
        RATE_LIMIT_PER_MINUTE: 0,
        RATE_LIMIT_ANONYMOUS_PER_MINUTE: 0,
        REQUEST_TIMEOUT_SECONDS: 60,
        BODY_TIMEOUT_SECONDS: 5,
        JOB_LEASE_SECONDS: 60,
        ...parts.config,
      },
    } as unknown as ServicePlatform,
  });
}
