// A hundred processes that want one database: one gets it, whatever becomes of it then.

import QuireStorage
import QuireTesting
import Testing

#if os(Linux)
  import Glibc

  @Suite struct ManyOpenersTests {
    let folder = TemporaryFolder()
    var path: String { folder.path + "/a.quire" }

    /// Starts a process that commits numbers until it is killed; what it complains of goes to `complaints`.
    private func start(_ program: String, complaints: Int32) -> pid_t? {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, complaints, 2)
      let arguments: [String] = [program, "kill-child", path, "--relaxed"]
      var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
      defer { for word in words { free(word) } }
      var process = pid_t()
      return posix_spawn(&process, program, &actions, nil, &words, nil) == 0 ? process : nil
    }

    @Test func oneOfAHundredWins() throws {
      let program = try #require(programPath())
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      var processes: Set<pid_t> = []
      for _ in 0..<100 { processes.insert(try #require(start(program, complaints: ends[1]))) }
      close(ends[1])
      defer { close(ends[0]) }
      // Who is refused says by whom, and ends.
      var losers: Set<pid_t> = []
      while losers.count < 99 {
        var status: Int32 = 0
        let process = waitpid(-1, &status, WNOHANG)
        if process > 0, processes.contains(process) { losers.insert(process) } else { usleep(1000) }
      }
      let winner = try #require(processes.subtracting(losers).first)
      defer {
        kill(winner, SIGKILL)
        waitpid(winner, nil, 0)
      }
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      let count = read(ends[0], &bytes, bytes.count)
      let lines = String(decoding: bytes[..<max(0, count)], as: UTF8.self).split(separator: "\n")
      let refusals = lines.filter { $0.contains("alreadyOpen") }
      #expect(refusals.count == 99, "\(lines.first ?? "")")
      #expect(refusals.allSatisfy { $0.contains("in process \(winner).") }, "\(refusals.first ?? "")")
      // A holder that was suspended holds on, and one that was killed does not.
      kill(winner, SIGSTOP)
      for isReadOnly in [false, true] {
        let start = ContinuousClock.now
        let error = #expect(throws: StorageError.self) {
          try StorageEngine(at: path, options: StorageOptions(isReadOnly: isReadOnly))
        }
        #expect(error?.code == .alreadyOpen && error?.holderProcessID == winner)
        // A tenth of that, on a machine that has nothing else to do.
        #expect(ContinuousClock.now - start < .seconds(1))
      }
      kill(winner, SIGKILL)
      waitpid(winner, nil, 0)
      let engine = try StorageEngine(at: path)
      try engine.verify()
      try engine.close()
    }
  }
#endif
