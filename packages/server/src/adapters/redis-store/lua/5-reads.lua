-- Rows of one call, and members of other shards that it passes over.
local ROWS_MAX, PASSED_MAX, STEP = 500, 2000, 250

local function after(cursor)
  return cursor == '' and '-' or '(' .. cursor
end

-- Reads from one index behind a cursor. Returns whether members may follow, the last one examined, and the ids found.
local function page(index, cursor, asked, left)
  local found = {}
  while left.rows > #found and left.passed > 0 and #found < asked.limit do
    local step = math.min(STEP, asked.limit - #found, left.rows - #found)
    local members = call('ZRANGE', index, after(cursor), asked.upper, 'BYLEX', 'LIMIT', 0, step)
    for _, member in ipairs(members) do
      local shard = byte(member, -1) + 1
      if sub(asked.mask, shard, shard) == '1' then
        found[#found + 1] = sub(member, asked.width + 1, asked.width + 16)
      else
        left.passed = left.passed - 1
      end
      cursor = member
    end
    if #members < step then return 0, cursor, found end
  end
  return 1, cursor, found
end

-- Arguments: bytes of a member before its id (its last byte is the shard), the shards as a text of 64 digits, the upper bound of members, rows
-- of each index, and for each index its name and the cursor. Answers for each index: whether more may follow, the cursor, ids and records.
local function rows(keys, args)
  local p = keys[1]
  local asked = { width = tonumber(args[1]), mask = args[2], upper = args[3], limit = tonumber(args[4]) }
  local left, pages = { rows = ROWS_MAX, passed = PASSED_MAX }, {}
  for i = 5, #args, 2 do
    local more, cursor, ids = page(p .. args[i], args[i + 1], asked, left)
    left.rows = left.rows - #ids
    local answer = { more, cursor }
    for n, record in ipairs(records(p, ids)) do
      answer[#answer + 1] = ids[n]
      answer[#answer + 1] = record
    end
    pages[#pages + 1] = answer
  end
  return pages
end

-- Heads of flows that a poll looks at, and members behind them.
local HEADS_MAX, LOOKED_AT = 64, 1000

-- Whether one of the flows in `heads` has a member of the shards in its index, whose name begins with `index`.
local function has_due(heads, index, asked, until_ms)
  local left = { rows = LOOKED_AT, passed = LOOKED_AT }
  for _, flow in ipairs(call('ZRANGE', heads, '-inf', until_ms, 'BYSCORE', 'LIMIT', 0, HEADS_MAX)) do
    local _, _, ids = page(index .. flow, '', asked, left)
    if #ids > 0 then return true end
  end
  return false
end

-- Arguments: shards as a text of 64 digits, upper bound of waiting members, the latest due time in ms, and the same two of plans.
local function poll(keys, args)
  local p, mask = keys[1], args[1]
  local commands, events = false, 0
  for shard = 0, 63 do
    if sub(mask, shard + 1, shard + 1) == '1' then
      if call('EXISTS', p .. 'ci' .. shard) == 1 then commands = true end
      if call('EXISTS', p .. 'eii' .. shard) == 1 then events = 1 end
    end
  end
  local waiting = has_due(p .. 'wh', p .. 'w', { width = 6, mask = mask, upper = args[2], limit = 1 }, args[3])
  local plans = has_due(p .. 'ph', p .. 'pd', { width = 6, mask = mask, upper = args[4], limit = 1 }, args[5])
  local pools = call('HVALS', p .. 'po')
  return { waiting and 1 or 0, call('EXISTS', p .. 'rl'), commands and 1 or 0, pools, plans and 1 or 0, events }
end
