"""Arrays, forces and simulations on a GPU. What lies behind an address is looked at with CUDA's driver, which knows nothing
of Pergola; CuPy and PyTorch take the same arrays where they are installed. Skipped where there is no GPU."""
import ctypes
import threading
import unittest

import harness  # noqa: F401
import numpy as np
import pergola


def gpu():
    """The first GPU that can be used; None."""
    return next((one["spec"] for one in pergola.devices() if one["spec"].startswith("cuda") and one["usable"]), None)


class Driver:
    """Memory of a GPU by its address, through libcuda."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.cuda.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]
        self.cuda.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        status = getattr(self.cuda, name)(*args)
        if status:
            raise AssertionError(f"{name}: {status}")

    def read(self, array):
        """What stands at the address that the array names."""
        there = array.__cuda_array_interface__
        values = np.empty(there["shape"], dtype=there["typestr"])
        self.call("cuMemcpyDtoH_v2", values.ctypes.data, there["data"][0], values.nbytes)
        return values

    def write(self, array, values):
        there = array.__cuda_array_interface__
        values = np.ascontiguousarray(values, dtype=there["typestr"])
        if values.shape != there["shape"]:
            raise AssertionError(f"{values.shape} for {there['shape']}")
        self.call("cuMemcpyHtoD_v2", there["data"][0], values.ctypes.data, values.nbytes)


def address(array):
    return array.__cuda_array_interface__["data"][0]


def imported(name):
    """A library that is installed and has the GPU; else None."""
    try:
        library = __import__(name)
        if name == "cupy":
            library.zeros(1)
        elif not library.cuda.is_available():
            return None
    except Exception:
        return None
    return library


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


@unittest.skipUnless(gpu(), "no usable CUDA device")
class TestOnGpu(unittest.TestCase):
    def setUp(self):
        self.driver = Driver()

    def cluster(self, **keywords):
        return pergola.Simulation(**{"model": "plummer", "n": 1000, "softening": 0.05, "integrator": "leapfrog", "step": 1 / 64,
                                     "precision": "double", "device": gpu(), **keywords})

    def test_views_are_the_simulation_memory(self):
        sim = self.cluster()
        with sim.arrays() as p:
            first = {name: address(getattr(p, name)) for name in ("x", "vz", "mass", "id")}
            self.assertEqual(len(set(first.values())), 4)
            self.assertEqual(p.x.__cuda_array_interface__["shape"], (1000,))
            self.assertEqual((len(p.x), p.x.dtype, p.id.dtype), (1000, np.float64, np.uint64))
        sim.step()
        shown = sim.particles
        with sim.arrays() as p:
            self.assertEqual(first, {name: address(getattr(p, name)) for name in first})
            place = np.argsort(self.driver.read(p.id))
            for name in ("x", "vy", "mass"):
                there = self.driver.read(getattr(p, name))
                self.assertTrue((there == getattr(p, name).get()).all())
                self.assertTrue((there[place] == getattr(shown, name)).all())

    def test_reading_changes_no_bit(self):
        one, other = self.cluster(), self.cluster()
        for k in range(4):
            one.run(until=(k + 1) / 16)
            other.run(until=(k + 1) / 16)
            with one.arrays() as p:
                self.driver.read(p.x)
        self.assertTrue((one.particles.position == other.particles.position).all())

    def test_a_change_by_address_is_felt(self):
        sim = self.cluster()
        with sim.arrays(write=True) as p:
            self.assertFalse(p.x.__cuda_array_interface__["data"][1])
            self.assertTrue(p.mass.__cuda_array_interface__["data"][1])  # read-only
            for array in (p.vx, p.vy, p.vz):
                self.driver.write(array, np.zeros(1000))
            for array in (p.x, p.y, p.z):
                self.driver.write(array, 3 * self.driver.read(array))
        wide = sim.energies
        self.assertEqual(wide.kinetic, 0)
        sim.run(until=0.25)
        self.assertGreater(sim.energies.kinetic, 0)
        self.assertAlmostEqual(sim.energies.total, wide.total, delta=1e-3 * abs(wide.total))

    def test_a_view_that_is_kept_is_no_longer_the_simulation(self):
        sim, other = self.cluster(), self.cluster()
        with sim.arrays(write=True) as p:
            kept = p.x
        with other.arrays(write=True):
            pass
        self.driver.write(kept, np.full(1000, 99.0))
        sim.step()
        other.step()
        self.assertTrue((self.driver.read(kept) == 99).all())
        with sim.arrays() as p:
            self.assertNotEqual(address(p.x), address(kept))
        self.assertTrue((sim.particles.x == other.particles.x).all())

    def test_dlpack_names_the_same_memory(self):
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        sim = self.cluster(precision="single")
        with sim.arrays() as p:
            self.assertEqual(p.x.__dlpack_device__(), (2, int(gpu().split(":")[1])))
            capsule = p.x.__dlpack__()
            tensor = Tensor.from_address(pointer(capsule, b"dltensor"))
            self.assertEqual(tensor.data + tensor.byte_offset, address(p.x))
            self.assertEqual((tensor.device_type, tensor.ndim, tensor.shape[0], tensor.strides[0]), (2, 1, 1000, 1))
            self.assertEqual((tensor.code, tensor.bits, tensor.lanes), (2, 32, 1))
            del tensor, capsule

    def test_other_libraries_take_the_arrays_without_a_copy(self):
        cupy, torch = imported("cupy"), imported("torch")
        if not cupy and not torch:
            self.skipTest("neither CuPy nor PyTorch is installed with this GPU")
        sim = self.cluster()
        with sim.arrays() as p:
            if cupy:
                taken = cupy.asarray(p.x)
                self.assertEqual(taken.data.ptr, address(p.x))
                self.assertAlmostEqual(float(taken.sum()), float(p.x.get().sum()), places=9)
                del taken
            if torch:
                taken = torch.from_dlpack(p.x)
                self.assertEqual(taken.data_ptr(), address(p.x))
                self.assertAlmostEqual(float(taken.sum()), float(p.x.get().sum()), places=9)
                del taken

    # Reference: the same force over NumPy arrays on the CPU.
    def test_a_force_on_device_arrays(self):
        def trap_on_gpu(p):
            for acceleration, place in ((p.ax, p.x), (p.ay, p.y), (p.az, p.z)):
                self.driver.write(acceleration, self.driver.read(acceleration) - 4 * self.driver.read(place))

        def trap(p):
            p.ax -= 4 * p.x
            p.ay -= 4 * p.y
            p.az -= 4 * p.z
        here, there = self.cluster(forces=[trap_on_gpu]), self.cluster(forces=[trap], device="cpu")
        free = self.cluster()
        for sim in (here, there, free):
            sim.run(until=0.25)
        self.assertLess(np.abs(here.particles.position - there.particles.position).max(), 1e-9)
        self.assertGreater(np.abs(here.particles.position - free.particles.position).max(), 1e-2)

    def test_an_array_of_a_force_cannot_be_kept(self):
        kept = []
        with self.assertRaisesRegex(pergola.Error, "found one that was kept"):
            self.cluster(forces=[lambda p: kept.append(p.x)]).step()

    def test_several_at_once_in_threads(self):
        alone = self.cluster(solver="tree")
        alone.run(until=0.25)
        sims = [self.cluster(solver="tree") for _ in range(3)]
        threads = [threading.Thread(target=sim.run, kwargs={"until": 0.25}) for sim in sims]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for sim in sims:
            self.assertTrue((sim.particles.position == alone.particles.position).all())

    # Reference: the CPU.
    def test_forces_alone(self):
        stars = pergola.make("plummer", n=2000)
        here = pergola.forces(stars, softening=0.05, precision="double", device=gpu())
        there = pergola.forces(stars, softening=0.05, precision="double", device="cpu")
        self.assertLess(np.abs(here - there).max(), 1e-10 * np.abs(there).max())


if __name__ == "__main__":
    unittest.main()
