import createClient, { type Middleware } from "openapi-fetch";
import { keyHeaders } from "./key";
import { asProblem, problemOf } from "./problem";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

const withKey: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(keyHeaders())) request.headers.set(name, value);
    return request;
  },
  onError({ error }) {
    return asProblem(error);
  },
};

/** The API of the server, typed from its description. */
export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(withKey);

type Answered<Data> = { data?: Data; error?: unknown; response: Response };

/** The data of an answer; a refusal is thrown as a `Problem`. */
export async function given<Data>(answer: Promise<Answered<Data>>): Promise<Data> {
  const { data, error, response } = await answer;
  if (!response.ok) throw problemOf(response.status, error);
  return data as Data;
}
