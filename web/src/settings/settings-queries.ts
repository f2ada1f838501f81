import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { api, given, type Schemas } from "@/api/client";
import { GROUPS, type SettingName, type Settings, sentFor } from "./fields";
import { type FieldStates, Saver } from "./saver";

export const SETTINGS = ["settings"] as const;

export function useSettings() {
  return useQuery({
    queryKey: SETTINGS,
    queryFn: () => given(api.GET("/api/settings/agent-config")),
  });
}

/** What each setting may be, by its name. */
export function useSettingBounds() {
  return useQuery({
    queryKey: [...SETTINGS, "bounds"],
    queryFn: () => given(api.GET("/api/settings/agent-config/bounds")),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** What was typed; null for no limit. */
export type Typed = string | null;
export type SettingStates = FieldStates<Typed>;

export type SettingsSaving = {
  states: SettingStates;
  change: (name: SettingName, typed: Typed) => void;
  retry: (name: SettingName) => void;
  reset: () => Promise<void>;
};

/** Saves each setting a moment after it was changed; what still waits is saved when one leaves. */
export function useSettingsSaver(): SettingsSaving {
  const queries = useQueryClient();
  const [saver] = useState(
    () => new Saver<SettingName, Typed>(async (name, typed) => keep(queries, await saved(name, typed))),
  );
  useEffect(() => {
    const flush = () => saver.flush();
    window.addEventListener("pagehide", flush);
    return () => {
      window.removeEventListener("pagehide", flush);
      flush();
    };
  }, [saver]);
  return {
    states: useSyncExternalStore(saver.subscribe, saver.read),
    change: (name, typed) => saver.change(name, typed),
    retry: (name) => saver.retry(name),
    reset: () =>
      saver.instead(async () => keep(queries, await given(api.POST("/api/settings/agent-config/reset")))),
  };
}

async function saved(name: SettingName, typed: Typed): Promise<Settings> {
  const field = GROUPS.flatMap((group) => group.fields).find((one) => one.name === name);
  const value = field === undefined ? typed : sentFor(field, typed);
  // Only what was changed is sent, and it may be wrong: the server is the one to say so.
  const body = { [name]: value } as Schemas["SettingsChange"];
  // Kept alive: a page that is closed in this moment still saves.
  return given(api.PUT("/api/settings/agent-config", { body, keepalive: true }));
}

/** The answer has all settings as they are now. What a question may cost at most follows from them. */
async function keep(queries: QueryClient, settings: Settings): Promise<void> {
  await queries.cancelQueries({ queryKey: SETTINGS, exact: true });
  queries.setQueryData(SETTINGS, settings);
  void queries.invalidateQueries({ queryKey: ["bound"] });
}
