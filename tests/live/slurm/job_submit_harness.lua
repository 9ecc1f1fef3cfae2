-- Runs job_submit.lua as slurmctld does, with a stub of its interface and a clock that tests set.
--
-- lua harness.lua JOB_SUBMIT HEARTBEAT CASES: CASES is a Lua file that returns a list of cases. Each
-- has `loaded`, the time at which the script is loaded, and `events`: a heartbeat to write, or a job
-- to submit at a time. For each job a line is printed: its return code, what was set, and the messages.
local script, heartbeat, cases = arg[1], arg[2], dofile(arg[3])
local clock = 0
os.time = function()
  return clock
end

local function write(text)
  local file = assert(io.open(heartbeat, "w"))
  file:write(text)
  file:close()
end

-- A job counts what is set, so that "untouched" can be told from "set to the same".
local function new_job(fields)
  local set, environment = {}, {}
  local job = setmetatable({}, {
    __index = function(_, key)
      if key == "environment" and not fields.interactive then
        return setmetatable({}, { __newindex = function(_, name, value)
          environment[#environment + 1] = name .. "=" .. value
        end })
      end
      if key == "trap" then
        error("trap")
      end
      return set[key] ~= nil and set[key] or fields[key]
    end,
    __newindex = function(_, key, value)
      set[key] = value
    end,
  })
  return job, set, environment
end

local function run(case, number)
  local messages = {}
  local function note(kind)
    return function(format, ...)
      messages[#messages + 1] = kind .. ": " .. string.format(format, ...)
    end
  end
  slurm = { SUCCESS = 0, ERROR = -1, log_user = note("user"), log_info = note("info"),
    log_error = note("error") }
  clock = case.loaded
  assert(dofile(script) == slurm.SUCCESS)
  for _, event in ipairs(case.events) do
    if event.heartbeat == "" then
      os.remove(heartbeat)
    elseif event.heartbeat then
      write(event.heartbeat)
    end
    if event.job then
      clock, messages = event.time, {}
      local job, set, environment = new_job(event.job)
      local code = slurm_job_submit(job, {}, 1000)
      assert(slurm_job_modify(job, {}, {}, 1000) == slurm.SUCCESS)
      local found = {}
      for key, value in pairs(set) do
        found[#found + 1] = key .. "=" .. tostring(value)
      end
      table.sort(found)
      print(table.concat({ number, code, table.concat(found, ","), table.concat(environment, ","),
        table.concat(messages, "|") }, "\t"))
    end
  end
end

for number, case in ipairs(cases) do
  run(case, number)
end
