-- One turn of an agent: first what speaks against it, then the turn itself, then what follows from its reply.

local function leave(name, condition, ...)
  return BT.sequence(name, { BT.condition(condition), ... })
end

local guards = {
  BT.sequence("forced", { BT.condition { expression = "forced" }, BT.action("run.leave_loop") }),
  leave("cancelled", "run.is_cancelled", BT.action("run.leave_loop")),
  leave("over budget", "budget.is_over_budget",
    BT.action("budget.emit_budget_exceeded"), BT.action("budget.force_completion")),
  leave("stuck loop", "run.is_stuck_loop",
    BT.action("budget.emit_budget_exceeded"), BT.action("budget.force_completion")),
  leave("failed", "run.has_failed", BT.action("run.leave_loop")),
  leave("finished", "run.is_finished", BT.action("run.leave_loop")),
}

-- While the model streams, what stands before the turn is looked at again with every piece that comes.
local ask = BT.reactive_sequence("ask the model", {
  BT.inverter { BT.condition("run.is_cancelled") },
  BT.inverter { BT.condition("budget.is_out_of_time") },
  BT.action("turn.take_turn"),
})

local signal = BT.sequence("signal", {
  BT.action("signals.parse_response_signal"),
  BT.action("signals.update_signal_state"),
  BT.action("signals.log_signal"),
  BT.action("signals.strip_signal_from_response"),
})

local function on(kind, ...)
  return BT.sequence(kind, { BT.condition("signals.signal_type_is", { args = { type = kind } }), ... })
end

local fallback = BT.sequence("fallback", {
  BT.condition("fallback.needs_fallback"),
  BT.action("fallback.trigger_fallback"),
  BT.selector("do it", {
    BT.sequence("answer now", {
      BT.condition { expression = "fallback_action == 'force_response'" },
      BT.action("answer.force_response"),
    }),
    BT.sequence("ask the user", {
      BT.condition { expression = "fallback_action == 'escalate'" },
      BT.action("user.escalate"),
    }),
    BT.condition { expression = "fallback_action == 'continue' or fallback_action == 'retry_with_hint'" },
  }),
})

-- What the agent says of itself decides what comes next. Whatever is left over is an answer, or another turn.
local route = BT.selector("route", {
  BT.sequence("tools", {
    BT.condition("tools.has_tool_calls"),
    BT.subtree_ref("execute-tools"),
    BT.always_succeed { fallback },
  }),
  BT.sequence("need_turn", { BT.condition("signals.wants_another_turn") }),
  -- Many models say nothing of themselves: a reply that calls no tool is their answer.
  BT.sequence("plain answer", {
    BT.inverter { BT.condition("signals.has_signal") },
    BT.action("answer.accept_answer"),
  }),
  fallback,
  on("context_sufficient", BT.action("answer.accept_answer")),
  on("partial_answer", BT.action("answer.accept_answer")),
  on("delegation_recommended", BT.action("delegation.delegate")),
  on("need_capability", BT.action("capability.record_gap"), BT.action("answer.accept_answer")),
  BT.action("answer.accept_answer"),
})

return BT.tree("agent-turn", {
  doc = "One turn: guards, the model, its signal, and what follows from it.",
  root = BT.selector("turn", {
    BT.selector("guards", guards),
    BT.sequence("take a turn", {
      BT.always_succeed {
        BT.sequence("warn", { BT.condition("budget.is_warning_due"), BT.action("budget.emit_budget_warning") }),
      },
      BT.action("messages.build_llm_request"),
      ask,
      signal,
      BT.always_succeed { route },
      BT.action("turn.end_turn"),
    }),
  }),
})
