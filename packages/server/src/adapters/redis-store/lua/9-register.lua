local READ, ADD, END = { 'no-writes' }, {}, { 'allow-oom' }

local function register(name, callback, flags)
  redis.register_function({
    function_name = name,
    callback = function(keys, args)
      if call == nil then
        call, sub, byte, char = redis.call, string.sub, string.byte, string.char
      end
      return callback(keys, args)
    end,
    flags = flags,
  })
end

register('ms_rights', rights, READ)
register('ms_open', open, END)
register('ms_take_over', take_over, END)
register('ms_release', release, END)
register('ms_kinds', kinds, ADD)
register('ms_submit', submit, ADD)
register('ms_commit', commit, END)
register('ms_rows', rows, READ)
register('ms_poll', poll, READ)
register('ms_command', command, END)
register('ms_pool', pool, ADD)
register('ms_audit', audit, END)
register('ms_settle_place', settle_place, END)
register('ms_change_over', change_over, ADD)
register('ms_keep_handlers', keep_handlers, ADD)
register('ms_logs', logs, ADD)
register('ms_retire', retire, END)
register('ms_forget_keys', forget_keys, END)
register('ms_drop_bodies', drop_bodies, END)
register('ms_renew', renew, END)
register('ms_leases', leases, READ)
register('ms_drain', drain, END)
