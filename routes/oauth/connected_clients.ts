import { z } from "zod";
import {
  ConnectedClient,
  disconnectClient,
  listConnectedClients,
} from "../../domain/oauth/connected_clients.ts";
import { byPerson, signedIn } from "../../domain/rights/checks.ts";
import { noContentAfter, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Sign-in");

/** The clients that a user signed in to. */
export const connectedClientRoutes = [
  endpoint("GET /api/v1/auth/connected-clients", {
    id: "listConnectedClients",
    summary: "List the OAuth clients that the caller signed in to, or allowed scopes",
    access: byPerson(signedIn),
    answers: { 200: { description: "At most 100 clients, by name", schema: z.array(ConnectedClient) } },
    run: async ({ db, caller }) => ok(await listConnectedClients(db, caller)),
  }),
  endpoint("DELETE /api/v1/auth/connected-clients/{id}", {
    id: "disconnectClient",
    summary: "Withdraw what the caller allowed an OAuth client, and end its sessions of the caller",
    access: byPerson(signedIn),
    params: z.object({ id: uuid }),
    answers: { 204: { description: "The client has no access any more, and must ask again" } },
    problems: ["OAUTH_CLIENT_NOT_FOUND"],
    run: ({ platform, caller, params }) => noContentAfter(disconnectClient(platform, caller, params.id)),
  }),
] as const;
