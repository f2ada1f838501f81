/** What the server tells of coding sessions, by the names that this room uses. */
import type { Schemas } from "@/api/client";
import type { paths } from "@/api/schema";

export type SessionRow = Schemas["SessionRow"];
export type Session = paths["/api/coding/{run_id}"]["get"]["responses"][200]["content"]["application/json"];
export type Step = Session["steps"][number];
export type StepStanding = Step["standing"];
export type GitStanding = NonNullable<Session["standing"]>;
export type Attempt = Session["attempts"][number];
export type Specification = Attempt["specification"];
export type Priced = Session["prices"][number];
export type Price = Priced["price"];
export type PriceRules = NonNullable<Session["price_rules"]>;
export type Alternative = Price["alternatives"][number];
export type Round = Session["rounds"][number];
export type TestsRun = Round["tests"][number];
export type Criterion = Round["criteria"][number];
export type Issue = Round["issues"][number];
export type Gravity = Issue["gravity"];
export type Pass = Round["passes"][number];
export type Proposal = Schemas["Proposal"];
export type Offer = Schemas["Offer"];
export type Accepted = Schemas["AcceptedShape"];
