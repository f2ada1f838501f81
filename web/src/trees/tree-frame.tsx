import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";

type TreeFrameProps = {
  title: string;
  badges?: ReactNode;
  lead?: ReactNode;
  actions?: ReactNode;
  /** What stands between the title and the tree. */
  above?: ReactNode;
  canvas: ReactNode;
  lua: ReactNode;
  below?: ReactNode;
};

/** The frame of a tree: drawing and Lua side by side where there is room for both. */
export function TreeFrame({ title, badges, lead, actions, above, canvas, lua, below }: TreeFrameProps) {
  return (
    <div className="relative h-full overflow-y-auto">
      <div className="mx-auto max-w-[110rem] space-y-4 px-4 py-5 sm:px-6">
        <header className="flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            <Link to="/trees" className="inline-flex items-center gap-1 text-xs text-ink-soft hover:text-ink">
              <ArrowLeft aria-hidden className="size-3.5" /> All trees
            </Link>
            <div className="flex flex-wrap items-center gap-2">
              <h1 className="text-xl font-semibold [overflow-wrap:anywhere]">{title}</h1>
              {badges}
            </div>
            {lead && <div className="text-sm text-ink-soft [overflow-wrap:anywhere]">{lead}</div>}
          </div>
          {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
        </header>
        {above}
        <div className="grid gap-4 lg:h-[max(32rem,calc(100vh-12rem))] lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)] xl:grid-cols-[minmax(0,1fr)_minmax(0,30rem)] 2xl:grid-cols-[minmax(0,1fr)_minmax(0,40rem)]">
          {canvas}
          {lua}
        </div>
        {below && <div className="grid items-start gap-4 md:grid-cols-2">{below}</div>}
      </div>
    </div>
  );
}
