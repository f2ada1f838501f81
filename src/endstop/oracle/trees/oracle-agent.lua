-- The oracle: an agent that answers questions about a project with tools.
--
-- It gets ready, takes turns until there is an answer or a reason to stop, and winds up. How many turns
-- there are is the run's configuration's to say ("max_turns"), not this file's: the run's limits are enforced
-- beneath the tree, whatever stands here.

return BT.tree("oracle-agent", {
  doc = "Answers questions about a project, and says how it stands.",

  root = BT.sequence("oracle", {

    BT.sequence("get ready", {
      BT.action("state.reset_state"),
      BT.action("query.analyze_query"),
      BT.action("context.load_context"),
    }),

    -- However the turns end, what follows them is done.
    BT.always_succeed {
      BT.repeat_until("turns", {
        max = "max_turns",
        expression = "is_done",
        BT.subtree_ref("agent-turn"),
      }),
    },

    BT.sequence("wind up", {
      BT.action("conversation.save_conversation"),
      BT.action("sources.emit_sources"),
      BT.action("run.emit_done"),
    }),
  }),
})
