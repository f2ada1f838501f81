import { useMutation } from "@tanstack/react-query";
import { ChevronDown, Download, Square } from "lucide-react";
import { useCancel, useReadAgain } from "@/stream/run-actions";
import { Button } from "@/ui/button";
import { Menu, MenuItem } from "@/ui/menu";
import { ProblemNotice } from "@/ui/states";
import { downloadRecord } from "./export-record";
import type { RunDetail } from "./run-shapes";
import { isGoing } from "./run-words";

/** What can be done with any run: stop it while it runs, take its record along. */
export function RunActions({ run }: { run: RunDetail }) {
  const cancel = useCancel(run.run_id, useReadAgain(run.run_id));
  const download = useMutation({ mutationFn: () => downloadRecord(run.run_id) });
  return (
    <div className="max-w-full space-y-2">
      <div className="flex flex-wrap gap-2 sm:justify-end">
        {isGoing(run) && (
          <StopMenu
            isAsking={cancel.isPending}
            asked={cancel.isSuccess ? (cancel.variables.afterTurn ? "after this turn" : "now") : null}
            onStop={(afterTurn) => cancel.mutate({ afterTurn })}
          />
        )}
        <Button disabled={download.isPending} onClick={() => download.mutate()}>
          <Download aria-hidden className="size-4" />
          {download.isPending ? "Exporting …" : "Export"}
        </Button>
      </div>
      {cancel.isError && (
        <ProblemNotice error={cancel.error} onRetry={() => cancel.mutate(cancel.variables)} />
      )}
      {download.isError && <ProblemNotice error={download.error} onRetry={() => download.mutate()} />}
    </div>
  );
}

type StopMenuProps = {
  isAsking: boolean;
  asked: "after this turn" | "now" | null;
  onStop: (afterTurn: boolean) => void;
};

/** Who has asked for the end of the turn may still lose patience with it. */
function StopMenu({ isAsking, asked, onStop }: StopMenuProps) {
  if (isAsking || asked === "now") {
    return (
      <Button look="stop" disabled>
        Stopping …
      </Button>
    );
  }
  if (asked === "after this turn") {
    return (
      <div className="flex items-center gap-2">
        <span role="status" className="text-sm text-ink-soft">
          Stops after this turn …
        </span>
        <Button look="stop" onClick={() => onStop(false)}>
          Stop now
        </Button>
      </div>
    );
  }
  const button = (
    <Button look="stop">
      <Square aria-hidden className="size-3.5 fill-current" />
      Stop
      <ChevronDown aria-hidden className="size-4" />
    </Button>
  );
  return (
    <Menu trigger={button}>
      <MenuItem onSelect={() => onStop(true)}>After this turn</MenuItem>
      <MenuItem onSelect={() => onStop(false)}>Now</MenuItem>
    </Menu>
  );
}
