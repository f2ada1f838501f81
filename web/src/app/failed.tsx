import { useRouteError } from "react-router";
import { Problem } from "@/api/problem";
import { ProblemNotice } from "@/ui/states";

/** A view broke. The rest of the page goes on, and nothing is lost: everything is on the server. */
export function Failed() {
  const error = useRouteError();
  const shown =
    error instanceof Problem
      ? error
      : new Problem(0, {
          code: "page",
          what: "This view could not be shown",
          allowed: "",
          to_do: "Nothing is lost. Load the page anew; if a new version was installed, that is all it takes.",
          field: null,
          value: null,
          bounds: null,
        });
  return (
    <div className="mx-auto max-w-xl p-8">
      <ProblemNotice error={shown} onRetry={() => window.location.reload()} />
    </div>
  );
}
