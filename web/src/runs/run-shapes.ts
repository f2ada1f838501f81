/** The shapes of this room, named once. */
import type { Schemas } from "@/api/client";

export type Run = Schemas["RunShape"];
export type RunDetail = Schemas["RunDetail"];
export type Meter = Schemas["MeterShape"];
export type Finding = Schemas["FindingShape"];
export type Signal = Schemas["SignalShape"];
export type Grant = Schemas["GrantShape"];
export type Moment = Schemas["MomentShape"];
export type Explanation = Schemas["ExplanationShape"];
export type Audit = Schemas["AuditShape"];
export type Burndown = Schemas["BurndownShape"];
export type UsedPoint = Schemas["UsedShape"];
export type AllowedPoint = Schemas["AllowedShape"];
export type Mark = Schemas["MarkShape"];
export type MarkKind = Schemas["MarkKind"];
