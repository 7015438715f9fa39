import type { OpenApiDocument } from "../../shared/openapi.ts";
import { Coded, type Placed, Prose } from "./operation_view.tsx";

/** All operations by their tag, with method and path. */
export function placedOperations(document: OpenApiDocument): Placed[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method, path, operation }))
  );
}

/** The reference: a form to sign in with, a search, and all operations by area. The browser loads an operation on opening. */
export function ReferencePage({ document }: { document: OpenApiDocument }) {
  const byTag = Map.groupBy(placedOperations(document), ({ operation }) => operation.tags[0] ?? "");
  return (
    <>
      <div class="page-head">
        <div>
          <h1>API reference</h1>
          <p class="muted">
            {`Version ${document.info.version}. `}
            <a href="openapi.json">OpenAPI document</a>
          </p>
        </div>
      </div>
      <div class="docs-tools">
        <SignIn />
        <div class="field">
          <label for="docs-search">Search operations</label>
          <input id="docs-search" type="search" placeholder="Path, name or words" autocomplete="off" />
          <p class="hint" data-found aria-live="polite"></p>
        </div>
      </div>
      <details class="card">
        <summary>How requests work</summary>
        {document.info.description?.split(/\n\n|\n(?=- )/).map((text) => (
          <Prose text={text.replaceAll("**", "").replace(/^- /, "").replaceAll(/\s*\n\s*/g, " ")} />
        ))}
      </details>
      {document.tags.map(({ name, description }) => (
        <Area name={name} description={description} operations={byTag.get(name) ?? []} />
      ))}
      <Webhooks document={document} />
    </>
  );
}

function SignIn() {
  return (
    <form class="card" id="docs-sign-in">
      <h2>Sign in to try requests</h2>
      <div class="row" data-credentials>
        <div class="field">
          <label for="docs-email">Email</label>
          <input id="docs-email" name="email" type="email" autocomplete="username" required />
        </div>
        <div class="field">
          <label for="docs-password">Password</label>
          <input
            id="docs-password"
            name="password"
            type="password"
            autocomplete="current-password"
            required
          />
        </div>
        <div class="field" data-code hidden>
          <label for="docs-code">Code of your authenticator app</label>
          <input id="docs-code" name="code" inputmode="numeric" autocomplete="one-time-code" />
        </div>
        <button type="submit" class="button primary">Sign in</button>
      </div>
      <div class="row">
        <p role="status" data-who></p>
        <button type="button" class="button small" data-sign-out hidden>Sign out</button>
      </div>
      <details>
        <summary>Use another token, or name a tenant</summary>
        <div class="field">
          <label for="docs-token">Token (access token or API key)</label>
          <input id="docs-token" type="password" autocomplete="off" data-token />
        </div>
        <div class="field">
          <label for="docs-tenant">X-Tenant-ID</label>
          <input id="docs-tenant" autocomplete="off" data-tenant />
          <p class="hint">Only for a global token or a service account.</p>
        </div>
      </details>
    </form>
  );
}

function Area(
  { name, description, operations }: { name: string; description: string; operations: Placed[] },
) {
  return (
    <details class="area" data-area>
      <summary>
        <h2>{name}</h2>
        <span class="muted">{description}</span>
      </summary>
      <p>
        <a href={`openapi.json?area=${encodeURIComponent(name)}`}>OpenAPI document of this area</a>
      </p>
      {operations.map(({ method, path, operation }) => (
        <details
          class="operation"
          id={operation.operationId}
          data-operation={operation.operationId}
          data-words={`${path} ${operation.operationId} ${operation.summary}`.toLowerCase()}
        >
          <summary>
            <span class={`method ${method}`}>{method.toUpperCase()}</span>
            <code>{path}</code>
            <Coded text={operation.summary} />
          </summary>
        </details>
      ))}
    </details>
  );
}

function Webhooks({ document }: { document: OpenApiDocument }) {
  return (
    <details class="area">
      <summary>
        <h2>Webhooks</h2>
        <span class="muted">Requests that the service sends to webhook endpoints</span>
      </summary>
      <Prose
        text={(document.components.schemas.WebhookEvent as { description?: string })?.description ?? ""}
      />
      {Object.entries(document.webhooks).map(([type, { post }]) => (
        <details class="operation">
          <summary>
            <span class="method post">POST</span>
            <code>{type}</code>
            <span>{post.summary}</span>
          </summary>
          <pre>{JSON.stringify(post.requestBody.content["application/json"].example, null, 2)}</pre>
        </details>
      ))}
    </details>
  );
}
