-- The tool calls of a reply: run, within the ceilings of the configuration, and each answered exactly once.

return BT.tree("execute-tools", {
  doc = "Runs the tool calls of a reply, and halts them if the run is cancelled.",
  root = BT.reactive_sequence("execute tools", {
    BT.inverter { BT.condition("run.is_cancelled") },
    BT.action("tools.run_tools"),
  }),
})
