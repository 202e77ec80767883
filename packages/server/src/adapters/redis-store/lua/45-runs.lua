-- Runs of workflows and executions of their nodes; runs/run-record.ts has the fields of the hash `rn<run>`. Indexes of a run, by id:
-- `ln` has its nodes and `li` the items of its maps, each as node (4 bytes), item (4 bytes, 0 without one) and id, `lo` those that are not
-- final, `z` with node and state the items in this state (a bitmap), `zn` the nodes that have such bitmaps. `rr<tenant>` has the runs of jobs,
-- `rc` those of the sub-workflows of a run.
do
  local NODE = 5

  -- Whether a record is that of a run of a workflow or of a sub-workflow, and that of a node.
  function running.is_run(record)
    return byte(record, 1) % 4 >= 2
  end

  function running.is_node(record)
    return byte(record, 44) % 128 == NODE
  end

  -- Run, node and item of the execution of a node, which are at a fixed place; item: nil if the node is no map.
  function running.place(record)
    local item = byte(record, 99) == 24 and sub(record, 120, 123) or nil
    return sub(record, 100, 115), sub(record, 116, 119), item
  end

  local function count_state(writes, run, state, by)
    local counts = writes.states[run] or {}
    writes.states[run] = counts
    counts[state] = (counts[state] or 0) + by
  end

  local function mark_item(writes, p, run, node, state, item, bit)
    append(writes.bits, 1, { p .. 'z' .. run .. node .. char(state), u32(item), bit })
  end

  -- Adds the execution of a node to the indexes of its run.
  function running.index(p, writes, id, record)
    local run, node, item = running.place(record)
    local state = byte(record, 2)
    append(writes.sorted, p .. (item and 'li' or 'ln') .. run, 0, node .. (item or '\0\0\0\0') .. id)
    if byte(record, 7) ~= 0 then append(writes.sets, p .. 'lo' .. run, id) end
    count_state(writes, run, state, 1)
    if item then
      append(writes.sets, p .. 'zn' .. run, node)
      mark_item(writes, p, run, node, state, item, 1)
    end
  end

  -- Adds a new execution of a node with all that belongs to it.
  function running.stage_node(p, writes, id, record)
    append(writes.values, 1, p .. 'e' .. id, record)
    running.index(p, writes, id, record)
    enqueue(writes.queues, id, record, 1)
  end

  -- Reads the first nodes of a workflow from the arguments behind `at`. Returns them and the index of the last argument.
  function running.read_roots(args, at)
    local roots = {}
    for n = 1, tonumber(args[at + 1]) do
      roots[n] = { id = args[at + 2 * n], record = args[at + 2 * n + 1] }
    end
    return roots, at + 1 + 2 * #roots
  end

  function running.has_root(p, roots)
    for _, root in ipairs(roots) do
      if call('EXISTS', p .. 'e' .. root.id) == 1 then return true end
    end
    return false
  end

  function running.stage_roots(p, writes, roots)
    for _, root in ipairs(roots) do
      running.stage_node(p, writes, root.id, root.record)
    end
  end

  -- Adds a new run of a workflow: its hash, and an entry among the runs of its tenant, or of its parent if it is that of a sub-workflow.
  function running.add(p, writes, id, record, tenant, workflow)
    append_all(writes.fields, p .. 'rn' .. id, { 'v', '1', 'm', 'R0', 'w', workflow })
    if running.is_node(record) then
      append(writes.sorted, p .. 'rc' .. running.place(record), 0, id)
    else
      append(writes.sorted, p .. 'rr' .. tenant, 0, id)
    end
  end

  -- Adds the change of a node's state.
  function running.move(p, writes, before, after)
    local from, to = byte(before, 2), byte(after, 2)
    if from == to then return end
    local run, node, item = running.place(after)
    count_state(writes, run, from, -1)
    count_state(writes, run, to, 1)
    if item then
      mark_item(writes, p, run, node, from, item, 0)
      mark_item(writes, p, run, node, to, item, 1)
    end
  end

  -- Writes the states of nodes that `index` and `move` have added.
  function running.write_states(p, writes)
    for run, counts in pairs(writes.states) do
      for state, by in pairs(counts) do
        if by ~= 0 then call('HINCRBY', p .. 'rn' .. run, 'n' .. state, by) end
      end
    end
    for _, bit in ipairs(writes.bits[1] or {}) do
      call('SETBIT', bit[1], bit[2], bit[3])
    end
  end
end
