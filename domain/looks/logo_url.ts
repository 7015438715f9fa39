import type { LogoFacts } from "./looks.ts";

/** Public URL of a tenant's logo. It changes with the logo, so that it can be cached for long. */
export const logoUrl = (baseUrl: string, tenantId: string, { tag }: Pick<LogoFacts, "tag">): string =>
  `${baseUrl}/looks/${tenantId}/logo?v=${tag}`;
