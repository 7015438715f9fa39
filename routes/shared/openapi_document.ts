// The types of the API document.
import type { Schema } from "./openapi_examples.ts";
import type { Webhook } from "./openapi_webhooks.ts";

/** A body in one content type. */
export interface Content {
  schema: Schema;
  example?: unknown;
  examples?: object;
}

/** An answer of one status. */
export interface Response {
  description: string;
  headers?: object;
  content?: Record<string, Content>;
}

/** The members of an operation that this module reads or changes. */
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Record<string, unknown>[];
  requestBody?: { required?: boolean; content: Record<string, Content> };
  responses: Record<string, Response | { $ref: string }>;
  /** Absent: that of the document. */
  security?: object[];
  "x-permissions"?: string[];
  "x-also-at"?: string[];
}

export interface OpenApiDocument {
  openapi: string;
  info: { title: string; version: string; description?: string };
  tags: { name: string; description: string }[];
  security: object[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Webhook>;
  components:
    & { schemas: Record<string, Schema>; responses: Record<string, Response> }
    & Record<string, object>;
}
