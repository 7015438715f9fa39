import type { OpenApiDocument, Operation } from "../../shared/openapi.ts";
import { codesIn } from "../../shared/openapi_refusals.ts";
import { type Parameter, parametersOf } from "../../shared/openapi_sharing.ts";
import { SchemaView, typeName } from "./schema_view.tsx";

/** An operation with its place. */
export interface Placed {
  method: string;
  path: string;
  operation: Operation;
}

/** One operation in the reference: parameters, body, answers, a form that sends it, and code that calls it. */
export function OperationView({ document, placed }: { document: OpenApiDocument; placed: Placed }) {
  const { operation, method, path } = placed;
  const [[bodyType, body] = []] = Object.entries(operation.requestBody?.content ?? {});
  const parameters = parametersOf(document, operation);
  return (
    <div class="operation-body">
      {operation.description && <Prose text={operation.description} />}
      <form
        class="try"
        data-method={method}
        data-path={path}
        data-body={bodyType ?? ""}
        data-open={operation.security ? "true" : ""}
      >
        {parameters.length > 0 && <h3>Parameters</h3>}
        {parameters.map((parameter) => (
          <ParameterField id={operation.operationId} parameter={parameter} document={document} />
        ))}
        {body && bodyType && <BodyField id={operation.operationId} type={bodyType} example={body.example} />}
        <p class="row">
          <button type="submit" class="button primary">Send</button>
          <span class="muted" data-needs-sign-in hidden>Sign in above first.</span>
        </p>
        <div class="answer" data-answer aria-live="polite" hidden></div>
      </form>
      <details>
        <summary>Call it from code</summary>
        <div class="samples" data-samples></div>
      </details>
      {body && bodyType === "application/json" && (
        <details>
          <summary>Members of the body</summary>
          <SchemaView document={document} schema={body.schema} />
        </details>
      )}
      <Answers document={document} operation={operation} />
    </div>
  );
}

function ParameterField({ id, parameter, document }: {
  id: string;
  parameter: Parameter;
  document: OpenApiDocument;
}) {
  const { name, in: place, required, description, schema, example } = parameter;
  const field = `${id}-${place}-${name}`;
  const hint = [typeName(document, schema), description].filter(Boolean).join(". ");
  return (
    <div class="field">
      <label for={field}>
        <code>{name}</code>
        {required ? <span class="required">required</span> : null}
        {place !== "query" && <span class="muted">{place}</span>}
      </label>
      <input
        id={field}
        name={name}
        data-in={place}
        aria-describedby={`${field}-hint`}
        value={required && example !== undefined ? String(example) : ""}
        required={required}
        autocomplete="off"
      />
      <p class="hint" id={`${field}-hint`}>{hint}</p>
    </div>
  );
}

function BodyField({ id, type, example }: { id: string; type: string; example: unknown }) {
  const field = `${id}-body`;
  if (type === "application/json") {
    const text = JSON.stringify(example ?? {}, null, 2);
    return (
      <div class="field">
        <label for={field}>Body</label>
        <textarea id={field} data-json rows={Math.min(18, text.split("\n").length + 1)} spellcheck={false}>
          {text}
        </textarea>
      </div>
    );
  }
  if (type === "application/x-www-form-urlencoded") {
    return (
      <div class="field">
        <label for={field}>Form (name=value, one a line)</label>
        <textarea id={field} data-form rows={5} spellcheck={false}></textarea>
      </div>
    );
  }
  return (
    <div class="field">
      <label for={field}>{`Content (${type})`}</label>
      <input type="file" id={field} data-file />
    </div>
  );
}

function Answers({ document, operation }: { document: OpenApiDocument; operation: Operation }) {
  return (
    <>
      <h3>Answers</h3>
      <dl class="answers">
        {Object.entries(operation.responses).map(([status, response]) => {
          const shared = "$ref" in response
            ? document.components.responses[response.$ref.slice("#/components/responses/".length)]
            : response;
          const description = "description" in response ? response.description : shared?.description ?? "";
          const codes = codesIn(description);
          const schema = "content" in response ? response.content?.["application/json"]?.schema : undefined;
          return (
            <div>
              <dt>
                <code>{status === "default" ? "other" : status}</code>
              </dt>
              <dd>
                {codes.length > 0
                  ? (
                    <ul class="codes">
                      {codes.map((code) => (
                        <li>
                          <a href={`problems/${code}`}>
                            <code>{code}</code>
                          </a>
                        </li>
                      ))}
                    </ul>
                  )
                  : <p>{description}</p>}
                {schema && (
                  <details>
                    <summary>{`Members of ${typeName(document, schema)}`}</summary>
                    <SchemaView document={document} schema={schema} />
                  </details>
                )}
              </dd>
            </div>
          );
        })}
      </dl>
    </>
  );
}

/** Text with `code`. */
export const Coded = ({ text }: { text: string }) => (
  <span>{text.split("`").map((part, index) => index % 2 === 1 ? <code>{part}</code> : part)}</span>
);

/** A paragraph with `code`. */
export const Prose = ({ text }: { text: string }) => (
  <p>
    <Coded text={text} />
  </p>
);
