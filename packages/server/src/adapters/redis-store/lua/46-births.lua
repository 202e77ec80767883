-- The parts `runs`, `births` and `commands` of a commit.
do
  -- Branch in the record of a node as a field, which is the first one of the last change; empty: there is none.
  function running.branch(record)
    local at = HEAD
    for _ = 1, 3 do
      at = part_end(record, at + 1)
    end
    if sub(record, at + 1, at + 1) ~= 'n' then return '' end
    return sub(record, at + 1, part_end(record, at + 2))
  end

  -- Reads `count` times `names` from the arguments behind `at`. Returns what it read and the index of the last argument.
  local function read_list(args, at, names)
    local found, i = {}, at + 1
    for n = 1, tonumber(args[i]) do
      local one = {}
      for _, name in ipairs(names) do
        i = i + 1
        one[name] = args[i]
      end
      found[n] = one
    end
    return found, i
  end

  local function read_changes(args, at)
    local found, i = {}, at + 1
    for n = 1, tonumber(args[at + 1]) do
      local change = { run = args[i + 1], was = args[i + 2], after = args[i + 3], fields = {} }
      for k = 1, tonumber(args[i + 4]) do
        change.fields[k] = args[i + 4 + k]
      end
      found[n], i = change, i + 4 + #change.fields
    end
    return found, i
  end

  -- Reads the added nodes, runs, births and commands of a shard from the arguments behind `at`; one empty text: there are none. Returns the
  -- index of the last argument.
  function running.read(args, at, asked)
    asked.updated = {}
    if args[at + 1] == '' then return at + 1 end
    local i = at
    asked.spawns, i = read_list(args, i, { 'id', 'run', 'first', 'content' })
    asked.runs, i = read_changes(args, i)
    asked.births, i = read_list(args, i, { 'id', 'record', 'after', 'workflow' })
    asked.added, i = read_list(args, i, { 'run', 'ended', 'id', 'shard', 'text' })
    return i
  end

  -- Adds the nodes that handlers have added, if the commit writes the ends of these handlers.
  function running.stage_spawns(p, asked, writes)
    for _, spawn in ipairs(asked.spawns or {}) do
      local key, field = p .. 'rn' .. spawn.run, 's' .. spawn.first
      local is_written = asked.updated[spawn.id]
      if is_written then append(writes.fields, key, field, spawn.content) end
      -- Nodes that are told again have the body of those that the run has, which upkeep must not remove.
      if is_written or call('HGET', key, field) == spawn.content then
        writes.bodies[#writes.bodies + 1] = 'b' .. spawn.run .. field .. sub(spawn.content, 5, 8)
      end
    end
  end

  -- Whether the commit changes all of these executions in the shard.
  local function are_updated(asked, ids)
    for i = 1, #ids, 16 do
      if not asked.updated[sub(ids, i, i + 15)] then return false end
    end
    return true
  end

  -- Adds the changes of runs. Returns those that are missed, by id, and their ids.
  local function stage_changes(p, asked, writes)
    local missed, ids = {}, {}
    for _, change in ipairs(asked.runs) do
      local key = p .. 'rn' .. change.run
      if call('HGET', key, 'v') == change.was and are_updated(asked, change.after) then
        append_all(writes.fields, key, change.fields)
      else
        missed[change.run] = true
        ids[#ids + 1] = change.run
      end
    end
    return missed, ids
  end

  -- Executions that are there among those of the births, by id.
  local function known_births(p, births)
    local ids, found = {}, {}
    for n, birth in ipairs(births) do
      ids[n] = birth.id
    end
    for _, id in ipairs(existing(p, { 'e' }, ids) > 0 and ids or {}) do
      found[id] = call('EXISTS', p .. 'e' .. id) == 1
    end
    return found
  end

  -- Adds the births of a shard. Returns the ids of those that it does not create. Births after the same executions follow each other.
  local function stage_births(p, asked, writes, missed)
    local there, unborn = known_births(p, asked.births), {}
    local is_due = true
    for _, birth in ipairs(asked.births) do
      local id, record = birth.id, birth.record
      local is_new = not there[id] and not writes.born[id]
      if birth.after ~= '=' then is_due = are_updated(asked, birth.after) end
      if is_new and is_due and not missed[running.place(record)] then
        writes.born[id] = true
        running.stage_node(p, writes, id, record)
        if birth.workflow ~= '' then running.add(p, writes, id, record, '', birth.workflow) end
      else
        unborn[#unborn + 1] = id
      end
    end
    return unborn
  end

  -- Adds the runs and births of all shards, once it is known which executions the commit changes.
  function running.stage(p, applied, writes)
    for _, asked in ipairs(applied) do
      local missed, ids, unborn = {}, {}, {}
      if asked.runs then
        missed, ids = stage_changes(p, asked, writes)
        unborn = stage_births(p, asked, writes, missed)
      end
      asked.missed_runs = missed
      asked.outcome[4], asked.outcome[5] = table.concat(ids), table.concat(unborn)
      asked.unwritten[#asked.unwritten + 1] = asked.outcome[5]
    end
  end

  -- Adds a command, unless the inbox has it. Returns its shard and 1, or 0.
  local function add_command(p, asked, one)
    local shard = byte(call('GETRANGE', p .. 'e' .. one.run, 15, 15))
    local is_due = not asked.missed_runs[one.run]
    if one.ended ~= '' then is_due = asked.updated[one.ended] end
    if not shard or not is_due then return 0 end
    local text = one.text
    if one.shard == '' then text = '{"shard":' .. shard .. ',' .. sub(text, 2) else shard = tonumber(one.shard) end
    if call('HSETNX', p .. 'c' .. shard, one.id, text) == 0 then return 0 end
    call('ZADD', p .. 'ci' .. shard, 0, one.id)
    return shard + 1
  end

  -- Adds the commands of a shard. Returns a byte for each.
  function running.add_commands(p, asked)
    local added = {}
    for n, one in ipairs(asked.added or {}) do
      added[n] = char(add_command(p, asked, one))
    end
    return table.concat(added)
  end
end
