import { Search } from "lucide-react";
import { Suspense, useState } from "react";
import { Link, NavLink, Outlet, useLocation } from "react-router";
import { asProblem } from "@/api/problem";
import { useSession } from "@/api/session";
import { useOpenReviewCount } from "@/reviews/review-queries";
import { SignIn } from "@/signin/sign-in";
import { Button } from "@/ui/button";
import { cx } from "@/ui/cx";
import { Loading, ProblemNotice } from "@/ui/states";
import { PLACES, type Place } from "./navigation";
import { Palette } from "./palette";
import { ThemeButton } from "./theme-button";
import { type Notice, useNotifications } from "./use-notifications";

/** The frame of every view: who is signed in, where one can go, how many decisions wait. */
export function Shell() {
  const session = useSession();
  if (session.isPending) return <Loading what="Opening" />;
  if (session.isError) {
    if (asProblem(session.error).status === 401) return <SignIn />;
    return (
      <div className="mx-auto max-w-xl p-8">
        <ProblemNotice error={session.error} onRetry={() => void session.refetch()} />
      </div>
    );
  }
  return <SignedIn />;
}

function SignedIn() {
  const review = useNotifications();
  const reviews = useOpenReviewCount();
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  return (
    <div className="flex h-full flex-col-reverse sm:flex-row">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-2"
      >
        Skip to the content
      </a>
      <nav
        aria-label="Views"
        className="flex shrink-0 items-center justify-around border-line bg-panel max-sm:border-t sm:w-16 sm:flex-col sm:justify-start sm:gap-1 sm:border-r sm:py-3"
      >
        {PLACES.map((place) => (
          <PlaceLink key={place.to} place={place} count={place.to === "/reviews" ? reviews : 0} />
        ))}
        <div className="flex flex-col items-center gap-1 max-sm:hidden sm:mt-auto">
          <Button
            look="ghost"
            size="icon"
            onClick={() => setPaletteOpen(true)}
            aria-label="Go to … (Ctrl or ⌘ and K)"
            title="Go to … (Ctrl or ⌘ and K)"
          >
            <Search aria-hidden className="size-4" />
          </Button>
          <ThemeButton />
        </div>
      </nav>
      <main id="main" tabIndex={-1} className="min-h-0 min-w-0 flex-1 outline-none">
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
      <Palette isOpen={isPaletteOpen} onOpenChange={setPaletteOpen} />
      <ReviewNews review={review} />
    </div>
  );
}

/** A small line that says that something waits for a decision. It goes by itself; the count stays. */
function ReviewNews({ review }: { review: Notice | null }) {
  const isThere = useLocation().pathname === "/reviews";
  return (
    <div aria-live="polite" className="fixed top-2 right-2 z-30 max-w-[calc(100vw-1rem)]">
      {review !== null && !isThere && (
        <Link
          to="/reviews"
          className="block truncate rounded-control border border-notice-line bg-notice-soft px-3 py-1.5 text-sm text-notice shadow-raised"
        >
          A run waits for your decision{review.why && `: ${review.why}`}
        </Link>
      )}
    </div>
  );
}

function PlaceLink({ place, count }: { place: Place; count: number }) {
  const { to, name, Icon } = place;
  // A conversation has an address of its own, and is the chat all the same.
  const isInChat = useLocation().pathname.startsWith("/c/") && to === "/";
  return (
    <NavLink
      to={to}
      end={to === "/"}
      {...(isInChat ? { "aria-current": "page" as const } : {})}
      className={({ isActive }) =>
        cx(
          "relative flex flex-col items-center gap-0.5 rounded-control px-2 py-1.5 text-[0.6875rem] font-medium sm:w-14",
          isActive || isInChat ? "bg-accent-soft text-accent" : "text-ink-soft hover:text-ink",
        )
      }
    >
      <Icon aria-hidden className="size-5" />
      {name}
      {count > 0 && (
        <span className="absolute top-0.5 right-1.5 min-w-4 rounded-full bg-notice-line px-1 text-center text-[0.625rem] leading-4 font-bold text-black">
          <span className="sr-only">waiting: </span>
          {count > 99 ? "99+" : count}
        </span>
      )}
    </NavLink>
  );
}
