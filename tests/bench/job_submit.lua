-- job_submit.lua - what sites commonly check, for tests/bench/submit
--
-- SPDX-License-Identifier: GPL-2.0-or-later

local cpus_of = { v100 = 24, a100 = 24, h100 = 32 }
local hours_of = { gpu = 48, long = 168 }

local function gpus_of (text)
    if text == nil then
        return nil, 0
    end
    local kind, count = string.match (text, "gpu:(%a%w*):(%d+)")
    if kind then
        return kind, tonumber (count)
    end
    return nil, tonumber (string.match (text, "gpu:(%d+)") or 0)
end

function slurm_job_submit (job, partitions, uid)
    local kind, gpus = gpus_of (job.tres_per_node or job.gres)

    if job.partition == nil then
        for name, partition in pairs (partitions) do
            if partition.flag_default == 1 then
                job.partition = name
            end
        end
    end
    if job.account == nil and job.default_account == "" then
        slurm.log_user ("no account: say --account")
        return slurm.ERROR
    end
    if job.time_limit == slurm.NO_VAL then
        slurm.log_user ("no time limit: say --time")
        return slurm.ERROR
    end
    local hours = hours_of[job.partition] or 24
    if job.time_limit > 60 * hours then
        slurm.log_user ("time limit above %d hours", hours)
        return slurm.ERROR
    end
    if gpus > 0 and job.cpus_per_task ~= slurm.NO_VAL16 then
        local most = gpus * (cpus_of[kind] or 16)
        if job.cpus_per_task > most then
            slurm.log_user ("more than %d CPUs for %d GPUs", most, gpus)
            return slurm.ERROR
        end
    end
    if gpus > 0 and job.script ~= nil and job.features == nil
        and string.find (job.script, "nvlink", 1, true) then
        job.features = "nvlink"
    end
    return slurm.SUCCESS
end

function slurm_job_modify (job, record, partitions, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
