import { ChevronDown, Square } from "lucide-react";
import { useCancel, useReadAgain } from "@/stream/run-actions";
import { Button } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";
import { ProblemNotice } from "@/ui/states";

/** Ends the session. What it has committed is kept, either way. */
export function StopMenu({ runId }: { runId: string }) {
  const cancel = useCancel(runId, useReadAgain(runId));
  const asked = cancel.isPending || cancel.isSuccess ? cancel.variables : null;
  const words = asked === null ? "Stop" : asked.afterTurn ? "Stopping after this turn …" : "Stopping …";
  return (
    <div className="max-w-full space-y-2">
      <Menu
        trigger={
          <Button look="stop" disabled={cancel.isPending || asked?.afterTurn === false}>
            <Square aria-hidden className="size-3 fill-current" />
            {words}
            <ChevronDown aria-hidden className="size-3.5" />
          </Button>
        }
      >
        <MenuItem onSelect={() => cancel.mutate({ afterTurn: false })}>Stop now</MenuItem>
        <MenuItem isDisabled={asked !== null} onSelect={() => cancel.mutate({ afterTurn: true })}>
          Stop after this turn
        </MenuItem>
      </Menu>
      {cancel.isError && (
        <ProblemNotice error={cancel.error} onRetry={() => cancel.mutate(cancel.variables)} />
      )}
    </div>
  );
}
