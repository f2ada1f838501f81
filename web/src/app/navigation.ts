import { Hammer, ListTree, type LucideIcon, MessageSquare, Scale, Settings, Timer } from "lucide-react";

export type Place = { to: string; name: string; about: string; Icon: LucideIcon };

/** The views, in their order: the navigation and the palette both show these. */
export const PLACES: readonly Place[] = [
  { to: "/", name: "Chat", about: "Ask about a project, with a budget you can see", Icon: MessageSquare },
  { to: "/runs", name: "Runs", about: "Every run, and how it ended", Icon: Timer },
  { to: "/reviews", name: "Reviews", about: "Runs that wait for your decision", Icon: Scale },
  { to: "/trees", name: "Trees", about: "How the agent behaves, drawn", Icon: ListTree },
  { to: "/coding", name: "Coding", about: "Have something built, at a price you approve", Icon: Hammer },
  { to: "/settings", name: "Settings", about: "Limits, model, access", Icon: Settings },
];
