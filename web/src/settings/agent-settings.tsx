import { useState } from "react";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Confirm } from "@/ui/confirm";
import { Loading, ProblemNotice } from "@/ui/states";
import { GROUPS } from "./fields";
import { SettingField } from "./setting-field";
import { useSettingBounds, useSettings, useSettingsSaver } from "./settings-queries";

/** Every setting of the agent. They hold for the next run, never for one that is under way. */
export function AgentSettings() {
  const settings = useSettings();
  const bounds = useSettingBounds();
  const { states, change, retry, reset } = useSettingsSaver();
  if (settings.data === undefined || bounds.data === undefined) {
    const failed = settings.isError ? settings : bounds.isError ? bounds : null;
    return failed === null ? (
      <Loading what="Reading your settings" />
    ) : (
      <ProblemNotice
        error={failed.error}
        onRetry={() => {
          void settings.refetch();
          void bounds.refetch();
        }}
      />
    );
  }
  const { data: values } = settings;
  const allowed = bounds.data;
  return (
    <>
      {GROUPS.map((group) => (
        <Card key={group.title} title={group.title}>
          <p className="-mt-2 text-sm text-ink-soft">{group.lead}</p>
          {group.fields.map((field) => {
            const bound = allowed[field.name];
            if (bound === undefined) return null;
            return (
              <SettingField
                key={field.name}
                field={field}
                bound={bound}
                value={values[field.name]}
                state={states[field.name]}
                onChange={(typed) => change(field.name, typed)}
                onRetry={() => retry(field.name)}
              />
            );
          })}
        </Card>
      ))}
      <Reset reset={reset} />
    </>
  );
}

function Reset({ reset }: { reset: () => Promise<void> }) {
  const [isAsking, setAsking] = useState(false);
  const [isUnderWay, setUnderWay] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirmed = async () => {
    setUnderWay(true);
    setError(null);
    try {
      await reset();
      setAsking(false);
    } catch (problem) {
      setError(problem);
    } finally {
      setUnderWay(false);
    }
  };
  const ask = (isOpen: boolean) => {
    setError(null);
    setAsking(isOpen);
  };
  return (
    <div className="flex flex-wrap items-center justify-between gap-3">
      <p className="text-sm text-ink-soft">Changes hold for the next run, never for one that is under way.</p>
      <Button onClick={() => ask(true)}>Set back to the defaults</Button>
      <Confirm
        title="Set all limits back to the defaults?"
        description="What you have set on this page for turns, tokens, cost, time, warnings and tools is forgotten. Runs that are under way keep theirs."
        action="Set back"
        isOpen={isAsking}
        isUnderWay={isUnderWay}
        onOpenChange={ask}
        onConfirm={() => void confirmed()}
      >
        {error !== null && <ProblemNotice error={error} className="mt-3" />}
      </Confirm>
    </div>
  );
}
