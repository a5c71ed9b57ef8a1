// The threads behind a control socket: one that lets tools in, and one for each of them.

internal import Dispatch
internal import QuireStorage
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// An open control socket.
///
/// Its threads keep the server and the database alive until `close`, which waits for them; nothing of the engine's is
/// locked while one waits for a tool.
final class ControlServer: Sendable {
  /// Invariant: `connections` are those of threads that run; `threadCount` counts these, and the one that lets tools
  /// in. It rises only while `isClosing` is false.
  private struct State {
    var connections: [ObjectIdentifier: LocalSocket] = [:]
    var threadCount = 0
    var isClosing = false
  }

  let core: DatabaseCore
  let name: SocketName
  /// Which file the database is in.
  let identity: FileIdentity
  let options: ControlSocket.Options
  private let listener: LocalSocket
  /// Stopped, it wakes the thread that lets tools in, which waits at the other end.
  private let bell: (ringing: LocalSocket, heard: LocalSocket)
  private let state = Latch(State())
  private let ended = DispatchSemaphore(value: 0)
  /// What the database closes this by.
  private let closing = Latch<Int?>(nil)

  init(_ core: DatabaseCore, _ path: String, _ options: ControlSocket.Options) throws(DatabaseError) {
    self.core = core
    self.options = options
    do throws(SystemError) { bell = try LocalSocket.pair() } catch {
      throw DatabaseError(.inputOutput, "There are no sockets left. Try again.", path: path, cause: error)
    }
    do throws(StorageError) { identity = try core.storage.fileIdentity() } catch { throw DatabaseError(error) }
    (name, listener) = try SocketName.take(path)
  }

  /// Lets tools in from now on.
  func start() throws(DatabaseError) {
    do throws(SystemError) {
      try listener.listen(16)
      state.withLock { state in
        assert(state.threadCount == 0, "a socket is opened twice")
        state.threadCount = 1
      }
      try ThreadStarter.system.start { [self] in letIn() }
    } catch {
      state.withLock { $0.threadCount = 0 }
      name.remove()
      throw DatabaseError(
        .limitReached, "The system has no thread for the control socket. Try again.", path: name.path, cause: error)
    }
    let number = core.closing.add { [weak self] in self?.close() }
    closing.withLock { $0 = number }
  }

  /// Whether no more work is to be begun, and what runs is to end.
  var isClosing: Bool { state.withLock { $0.isClosing } }

  /// Ends connections and threads, and takes the name away. In a child that was forked, which has no such threads, it
  /// leaves to the parent what is the parent's. In a write transaction, which requests may wait for, it waits for no
  /// thread: they end behind it, and the database, when it is closed, waits for them.
  func close() {
    guard name.isOurs else { return }
    let (connections, mustWait) = state.withLock { state in
      state.isClosing = true
      return (Array(state.connections.values), state.threadCount > 0)
    }
    // Gone before it stops listening: who comes now finds nothing, instead of nobody.
    name.remove()
    bell.ringing.stop()
    for connection in connections { connection.stop() }
    if core.storage.writerLock.isHeldByThisThread { return }
    if mustWait {
      ended.wait()
      // For those who close at the same time.
      ended.signal()
    }
    if let number = closing.withLock({ $0.take() }) { core.closing.remove(number) }
  }

  // MARK: Threads

  private func letIn() {
    while listener.awaitConnection(unless: bell.heard), !isClosing {
      guard let socket = listener.accept() else {
        // It may have gone already; or there are no descriptors, and asking at once again would not make any.
        bell.heard.rest(milliseconds: 20)
        continue
      }
      // Others are not even told that they are not heard.
      guard let peer = socket.peer, peer.user == geteuid() else { continue }
      admit(socket, peer)
    }
    leave()
  }

  private func admit(_ socket: LocalSocket, _ peer: LocalSocket.Peer) {
    let id = ObjectIdentifier(socket)
    let isAdmitted = state.withLock { state -> Bool in
      guard !state.isClosing, state.connections.count < options.connectionLimit else { return false }
      state.connections[id] = socket
      state.threadCount += 1
      assert(state.connections.count < state.threadCount, "a connection has no thread, or nobody lets tools in")
      return true
    }
    guard isAdmitted else {
      let full = DatabaseError(
        .limitReached, "\(options.connectionLimit) tools are connected, and no more are served. Try again later.",
        path: core.path)
      // There is room for a first line, so this waits for nobody.
      try? ControlStream(socket).say(ControlAnswer.failed(full), until: 0)
      return socket.stop()
    }
    do throws(SystemError) {
      try ThreadStarter.system.start { [self] in
        ControlConnection(self, socket, peer).run()
        socket.stop()
        leave(id)
      }
    } catch {
      socket.stop()
      leave(id)
    }
  }

  private func leave(_ id: ObjectIdentifier? = nil) {
    let isLast = state.withLock { state in
      if let id { state.connections[id] = nil }
      state.threadCount -= 1
      assert(state.threadCount >= state.connections.count, "a connection has no thread")
      return state.threadCount == 0
    }
    if isLast { ended.signal() }
  }
}
