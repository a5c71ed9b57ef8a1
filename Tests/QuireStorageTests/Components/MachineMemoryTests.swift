// What part of the machine's memory a cache takes if nobody chooses.

import Testing

@testable import QuireStorage

@Suite struct MachineMemoryTests {
  @Test("A quarter of the memory, within bounds; less where the system ends who takes too much")
  func theDefaultFollowsTheMemory() {
    func mebibytes(_ gibibytes: Double, isShared: Bool = false) -> Int {
      MachineMemory.cacheSize(for: Int(gibibytes * Double(1 << 30)), isShared: isShared) >> 20
    }
    #expect(mebibytes(0.1) == 64)
    #expect(mebibytes(1) == 256)
    #expect(mebibytes(23) == 5888)
    #expect(mebibytes(512) == 16 << 10)
    #expect(mebibytes(0.25, isShared: true) == 32)
    #expect(mebibytes(4, isShared: true) == 256)
    #expect(mebibytes(16, isShared: true) == 512)
    #expect(MachineMemory.cacheSize(for: nil, isShared: false) == 512 << 20)
  }

  @Test("The default is one that an engine opens with")
  func theDefaultIsValid() throws {
    #expect((64 << 20...16 << 30).contains(StorageOptions.defaultCacheSize))
    try StorageOptions().check(allowsTestPages: false)
    #if os(Linux)
      let memory = try #require(MachineMemory.physicalByteCount)
      #expect(StorageOptions.defaultCacheSize <= max(64 << 20, memory / 4))
    #endif
  }

  @Test("The tightest limit of the control groups around the process counts, in either version")
  func groupsAreRead() {
    func limit(_ files: [String: String]) -> Int? { MachineMemory.groupLimit { files[$0] } }
    #expect(limit([:]) == nil)
    #expect(limit(["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"]) == nil)
    #expect(limit(["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "536870912\n"]) == 512 << 20)
    let nested = [
      "/proc/self/cgroup": "0::/user.slice/app.service\n", "/sys/fs/cgroup/user.slice/memory.max": "300000000\n",
      "/sys/fs/cgroup/user.slice/app.service/memory.max": "400000000\n",
    ]
    #expect(limit(nested) == 300_000_000)
    let old = [
      "/proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n",
      "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "200000000\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "/sys/fs/cgroup/x/memory.max": "1\n",
    ]
    #expect(limit(old) == 200_000_000)
    for text in ["", "-5\n", "0\n", "99999999999999999999999\n", "x\n", "\n"] {
      #expect(limit(["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": text]) == nil, "\(text)")
    }
    #expect(limit(["/proc/self/cgroup": "rubbish\n::::\n\n"]) == nil)
  }
}
